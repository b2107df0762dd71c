//! Bodies of requests, within limits of size and time, decompressed.

use std::io::Read;

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use futures_util::future::poll_fn;
use tokio::time::{Instant, timeout_at};

use crate::{
    held::{Held, Memory},
    refusal::Refusal,
    settings::Limits,
};

/// Bodies above this size are unpacked and parsed where they don't hold up others.
pub(crate) const LARGE: usize = 1 << 17;

/// Reads a body.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
    memory: &Memory,
) -> Result<(Vec<u8>, Held), Refusal> {
    let mut held = memory.hold();
    let encoding = Encoding::of(headers)?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok());
    if announced.and_then(|v| v.parse().ok()).is_some_and(|length: usize| length > limits.sent) {
        return Err(too_large(limits));
    }
    let sent = collect(body, limits, &mut held).await?;
    let unpacked = match encoding {
        Encoding::Plain => return Ok((sent, held)),
        packed if sent.len() < LARGE / 4 => unpack(packed, &sent, limits, held)?,
        packed => {
            let limits = *limits;
            on_the_side(move || unpack(packed, &sent, &limits, held)).await?
        }
    };
    Ok(unpacked)
}

/// Does work that takes a while on a thread for such.
pub(crate) async fn on_the_side<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refusal::failed("reading the request failed")))
}

fn too_large(limits: &Limits) -> Refusal {
    Refusal::too_large(format!("a body may have {} bytes", limits.sent))
}

async fn collect(mut body: Body, limits: &Limits, held: &mut Held) -> Result<Vec<u8>, Refusal> {
    let deadline = Instant::now() + limits.body;
    let mut bytes = Vec::new();
    loop {
        let frame = poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context));
        let frame = timeout_at(deadline, frame).await.map_err(|_| {
            Refusal::slow(format!("the body did not arrive within {} s", limits.body.as_secs()))
        })?;
        let Some(frame) = frame else { return Ok(bytes) };
        let frame = frame.map_err(|e| Refusal::invalid(format!("the body can't be read: {e}")))?;
        let data: Bytes = frame.into_data().unwrap_or_default();
        if bytes.len() + data.len() > limits.sent {
            return Err(too_large(limits));
        }
        held.grow(data.len())?;
        bytes.extend_from_slice(&data);
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Plain,
    Gzip,
    Deflate,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(Self::Plain) };
        match value.to_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Plain),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            other => Err(Refusal::client(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("bodies may be gzip or deflate, not {other:?}"),
            )),
        }
    }
}

fn unpack(
    encoding: Encoding,
    sent: &[u8],
    limits: &Limits,
    mut held: Held,
) -> Result<(Vec<u8>, Held), Refusal> {
    // Deflate is meant to be zlib, and some send it bare.
    let is_zlib = sent.first().is_some_and(|b| b & 15 == 8)
        && sent.first_chunk::<2>().is_some_and(|head| u16::from_be_bytes(*head) % 31 == 0);
    let mut reader: Box<dyn Read> = match encoding {
        Encoding::Plain => Box::new(sent),
        Encoding::Gzip => Box::new(MultiGzDecoder::new(sent)),
        Encoding::Deflate if is_zlib => Box::new(ZlibDecoder::new(sent)),
        Encoding::Deflate => Box::new(DeflateDecoder::new(sent)),
    };
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let read = reader.read(&mut piece);
        let read =
            read.map_err(|e| Refusal::invalid(format!("the body can't be unpacked: {e}")))?;
        if read == 0 {
            return Ok((bytes, held));
        }
        if bytes.len() + read > limits.unpacked {
            return Err(Refusal::too_large(format!(
                "a body may have {} bytes after decompression",
                limits.unpacked
            )));
        }
        held.grow(read)?;
        bytes.extend_from_slice(&piece[..read]);
    }
}
