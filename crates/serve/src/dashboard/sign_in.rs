//! Where browsers show a token.

use axum::{
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::IntoResponse,
};
use taste_report::escape;

use super::{
    Page, html,
    layout::{Kind, Layout},
};
use crate::{app::App, body, refusal::Refusal};

pub(super) fn page(app: &App, problem: Option<&str>) -> String {
    let problem = problem.map_or(String::new(), |text| {
        format!("<p class=\"said\" role=\"alert\">{}</p>", escape(text))
    });
    let main = if app.access.has_tokens() {
        format!(
            "<section class=\"card narrow-card\"><h1>Sign in</h1>{problem}\
             <form method=\"post\" action=\"/sign-in\"><label>Token \
             <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required></label>\
             <button type=\"submit\">Sign in</button></form>\
             <p class=\"quiet\">A token with the role read or admin. The browser keeps a session, not the token.</p>\
             </section>\n"
        )
    } else {
        "<h1>Sign in</h1><p>This service asks for no tokens. <a href=\"/\">To the monitors</a></p>"
            .to_owned()
    };
    Layout { title: "Sign in", at: "", kind: Kind::Live, streams: Vec::new() }.page(&main)
}

pub(super) async fn answer(app: &App, request: Request) -> Page {
    let (parts, body) = request.into_parts();
    let (bytes, _held) =
        body::read(&parts.headers, body, &app.settings.limits, &app.memory).await?;
    let form = String::from_utf8_lossy(&bytes);
    let token = form.split('&').find_map(|pair| pair.strip_prefix("token=")).map(decoded);
    let cookie = token.as_deref().and_then(|token| app.access.sign_in(token));
    let Some(cookie) = cookie else {
        let mut response =
            html(&parts.headers, page(app, Some("No such token, or it may not look at pages.")));
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(response);
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::SET_COOKIE, cookie);
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    Ok::<_, Refusal>(response)
}

/// A value of a form.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let hex = |b: u8| char::from(b).to_digit(16);
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = (rest.next().and_then(hex), rest.next().and_then(hex));
                if let (Some(high), Some(low)) = digits {
                    bytes.extend(u8::try_from(16 * high + low));
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded() {
        assert_eq!(decoded("a%2Fb+c%C3%A9%"), "a/b cé");
    }
}
