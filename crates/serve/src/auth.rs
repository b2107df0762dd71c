//! Who may do what: tokens with roles, sessions of browsers, and requests that pages of others send.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use crate::{Error, digest, refusal::Refusal};

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: whether the service lives.
    Nothing,
    /// Any token: what is served.
    Any,
    /// To score samples.
    Score,
    /// To look at monitors and pages.
    Read,
    /// To look at metrics.
    Metrics,
    /// To change the state of monitors.
    Admin,
}

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Score samples.
    Score,
    /// Look at monitors, metrics and pages.
    Read,
    /// All of that, and change the state of monitors.
    Admin,
}

impl Role {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "score" => Self::Score,
            "read" => Self::Read,
            "admin" => Self::Admin,
            _ => return None,
        })
    }

    fn may(self, needs: Needs) -> bool {
        match needs {
            Needs::Nothing | Needs::Any => true,
            Needs::Score => self != Self::Read,
            Needs::Read | Needs::Metrics => self != Self::Score,
            Needs::Admin => self == Self::Admin,
        }
    }
}

/// Tokens, each with a role. They are kept as digests.
#[derive(Debug, Default)]
pub struct Tokens {
    known: Vec<([u8; 32], Role)>,
}

impl Tokens {
    /// Reads lines of a role and a token. Empty lines and those that begin with # are passed over.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let mut known = Vec::new();
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |message: &str| Error::Tokens {
                path: path.to_owned(),
                line: place + 1,
                message: message.to_owned(),
            };
            let (role, token) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| wrong("it is not a role and a token"))?;
            let role =
                Role::named(role).ok_or_else(|| wrong("the roles are score, read and admin"))?;
            let token = token.trim();
            if token.len() < 16 {
                return Err(wrong("a token has at least 16 characters"));
            }
            known.push((digest::sha256(token.as_bytes()), role));
        }
        if known.is_empty() {
            let (line, message) = (1, "there are no tokens".to_owned());
            return Err(Error::Tokens { path: path.to_owned(), line, message });
        }
        Ok(Self { known })
    }

    /// The role of a token. Every one is compared to its end, so that time tells nothing.
    fn role(&self, token: &str) -> Option<Role> {
        let given = digest::sha256(token.as_bytes());
        let mut found = None;
        for (known, role) in &self.known {
            let differing = known.iter().zip(&given).fold(0, |bits, (a, b)| bits | (a ^ b));
            if differing == 0 {
                found = Some(*role);
            }
        }
        found
    }
}

/// How long a browser stays known.
const SESSION: Duration = Duration::from_hours(12);
/// No more browsers are known than that; the oldest is forgotten.
const MOST_SESSIONS: usize = 1000;
/// The name of the cookie.
const COOKIE: &str = "taste_session";

/// Who may do what.
#[derive(Debug)]
pub(crate) struct Access {
    tokens: Option<Tokens>,
    open_metrics: bool,
    local_names_only: bool,
    sessions: Mutex<HashMap<String, (Role, Instant)>>,
}

impl Access {
    pub(crate) fn new(tokens: Option<Tokens>, open_metrics: bool, local_names_only: bool) -> Self {
        let local_names_only = local_names_only && tokens.is_none();
        Self { tokens, open_metrics, local_names_only, sessions: Mutex::default() }
    }

    /// Whether tokens are asked for.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Fails unless a request may do what it needs.
    pub(crate) fn check(
        &self,
        needs: Needs,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        if self.local_names_only && !names_this_machine(uri, headers) {
            let message = "the service answers to 127.0.0.1, [::1] and localhost alone";
            return Err(Refusal::client(StatusCode::MISDIRECTED_REQUEST, message));
        }
        if *method != Method::GET && *method != Method::HEAD && comes_from_elsewhere(headers) {
            let message = "the request was sent by a page of another site";
            return Err(Refusal::client(StatusCode::FORBIDDEN, message));
        }
        let open = needs == Needs::Nothing || (needs == Needs::Metrics && self.open_metrics);
        let Some(tokens) = self.tokens.as_ref().filter(|_| !open) else { return Ok(()) };
        let bearer = text(headers, &header::AUTHORIZATION)
            .and_then(|v| v.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let role = match bearer {
            Some(token) => tokens.role(token),
            None => cookie(headers).and_then(|id| self.session(id)),
        };
        match role {
            Some(role) if role.may(needs) => Ok(()),
            Some(_) => {
                Err(Refusal::client(StatusCode::FORBIDDEN, "the token's role does not allow this"))
            }
            None => Err(Refusal::client(
                StatusCode::UNAUTHORIZED,
                "a token is needed: Authorization: Bearer TOKEN",
            )),
        }
    }

    fn session(&self, id: &str) -> Option<Role> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let (role, since) = sessions.get(id)?;
        (since.elapsed() < SESSION).then_some(*role)
    }

    /// A cookie for a browser that shows a token which may look at pages.
    pub(crate) fn sign_in(&self, token: &str) -> Option<HeaderValue> {
        let role = self.tokens.as_ref()?.role(token).filter(|role| role.may(Needs::Read))?;
        let mut random = [0; 32];
        getrandom::fill(&mut random).ok()?;
        let id = digest::hex(&random);
        let cookie = format!(
            "{COOKIE}={id}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
            SESSION.as_secs()
        );
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, (_, since)| since.elapsed() < SESSION);
        if sessions.len() >= MOST_SESSIONS {
            let oldest = sessions.iter().min_by_key(|entry| entry.1.1).map(|entry| entry.0.clone());
            oldest.and_then(|id| sessions.remove(&id));
        }
        sessions.insert(id, (role, Instant::now()));
        HeaderValue::from_str(&cookie).ok()
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = text(headers, &header::COOKIE)?.split(';');
    cookies.filter_map(|c| c.trim().split_once('=')).find(|(name, _)| *name == COOKIE).map(|c| c.1)
}

/// Whether the request calls the service by a name that means this machine. A name of someone else's that leads here
/// would let a page of theirs read the answers.
fn names_this_machine(uri: &Uri, headers: &HeaderMap) -> bool {
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    let Some(named) = named.or_else(|| text(headers, &header::HOST)) else { return true };
    let host = match named.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => named,
    };
    host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a browser says that a page of another site sent the request.
fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin" && site != "none";
    }
    match (text(headers, &header::ORIGIN), text(headers, &header::HOST)) {
        (Some(origin), Some(host)) => origin.split_once("://").map(|o| o.1) != Some(host),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Tokens, Error> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        Tokens::read(file.path())
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(n, v)| ((*n).parse().expect("n"), v.parse().expect("v"))).collect()
    }

    #[test]
    fn roles_allow_what_they_say() {
        let text = "# for all\nscore 0123456789abcdef\n\nread  read-read-read-read\nadmin adminadminadminadmin\n";
        let access = Access::new(Some(tokens(text).expect("tokens")), false, true);
        let uri = Uri::from_static("/");
        let check = |token: &str, needs| {
            let headers = headers(&[("authorization", &format!("Bearer {token}"))]);
            access.check(needs, &Method::GET, &uri, &headers).map_err(|e| e.status.as_u16())
        };
        let all = [Needs::Score, Needs::Read, Needs::Metrics, Needs::Admin];
        let of = |token: &str| all.map(|needs| check(token, needs).is_ok());
        assert_eq!(of("0123456789abcdef"), [true, false, false, false]);
        assert_eq!(of("read-read-read-read"), [false, true, true, false]);
        assert_eq!(of("adminadminadminadmin"), [true; 4]);
        assert_eq!(check("0123456789abcdee", Needs::Score), Err(401));
        assert_eq!(check("0123456789abcdef", Needs::Admin), Err(403));
        assert!(check("nobody", Needs::Nothing).is_ok());
        assert!(access.sign_in("0123456789abcdef").is_none());
        let cookie = access.sign_in("read-read-read-read").expect("a cookie");
        let cookie = cookie.to_str().expect("text").split(';').next().expect("a pair");
        let headers = headers(&[("cookie", &format!("a=b; {cookie}"))]);
        assert!(access.check(Needs::Read, &Method::GET, &uri, &headers).is_ok());
        assert!(access.check(Needs::Admin, &Method::GET, &uri, &headers).is_err());
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, wanted) in [
            ("score short", "line 1: a token has at least 16"),
            ("\nroot 0123456789abcdef", "line 2: the roles are"),
            ("score", "not a role and a token"),
            ("# nothing", "no tokens"),
        ] {
            let message = tokens(text).expect_err(text).to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn pages_of_others_can_neither_read_nor_change() {
        let access = Access::new(None, false, true);
        let check = |method: Method, list: &[(&'static str, &str)]| {
            access.check(Needs::Admin, &method, &Uri::from_static("/"), &headers(list)).is_ok()
        };
        for host in ["localhost:8080", "127.0.0.1:1", "[::1]:80", "127.0.0.1"] {
            assert!(check(Method::GET, &[("host", host)]), "{host}");
        }
        assert!(!check(Method::GET, &[("host", "evil.example:8080")]));
        let here = ("host", "localhost:8080");
        assert!(check(Method::POST, &[here]));
        assert!(check(Method::POST, &[here, ("origin", "http://localhost:8080")]));
        assert!(!check(Method::POST, &[here, ("origin", "http://localhost:9000")]));
        assert!(!check(Method::POST, &[here, ("sec-fetch-site", "cross-site")]));
        assert!(check(Method::POST, &[here, ("sec-fetch-site", "same-origin")]));
    }
}
