//! HTTP: requests that name their destination (absolute-form), and tunnels (CONNECT).
//!
//! Every request is parsed, decided and written anew, so that no server sees how the client framed
//! or spelled it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::http::uri::{Authority, Scheme};
use hyper::service::service_fn;
use hyper::upgrade::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri, client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::connector::{ConnectError, EgressConnector};
use super::framing_check::{AmbiguityFlag, FramingCheck};
use super::host::TargetHost;
use super::pipe::pipe;
use super::shutdown::ConnectionGuard;

/// Time a client has for the head of a request.
const HEAD: Duration = Duration::from_secs(60);
/// The header in which a refusal names its destination.
const DENIED: HeaderName = HeaderName::from_static("x-boxproof-denied");
/// Hop-by-hop headers (RFC 9110, 7.6.1, and those sent to proxies).
const HOPS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

type HttpBody = BoxBody<Bytes, hyper::Error>;

/// The destination of a request.
struct ProxyTarget {
    target: TargetHost,
    port: u16,
}

/// Serves one client until it closes.
pub(super) async fn serve(stream: TcpStream, gate: Arc<EgressConnector>, life: ConnectionGuard) {
    let (stream, odd) = FramingCheck::new(stream);
    let service = service_fn(move |request| {
        let (gate, life, odd) = (Arc::clone(&gate), life.clone(), odd.clone());
        async move { Ok::<_, Infallible>(framed(request, &gate, life, &odd).await) }
    });
    let mut http = server::conn::http1::Builder::new();
    http.preserve_header_case(true).timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A client that breaks off, or speaks something else, is answered by hyper.
    let _broken = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

/// Refuses a request with two lengths; behind a chunked body requests are not scanned any more, so
/// the connection is closed.
async fn framed(
    request: Request<Incoming>,
    gate: &EgressConnector,
    life: ConnectionGuard,
    odd: &AmbiguityFlag,
) -> Response<HttpBody> {
    if odd.is_seen() && !fault!("network.two-lengths") {
        return refusal("a request with two lengths is not taken");
    }
    let coded = request.headers().contains_key(TRANSFER_ENCODING);
    let mut response = answer(request, gate, life).await;
    if coded && !fault!("network.chunked-stays-open") {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Refuses a request and closes the connection, as the client may take the bytes that follow for
/// something else.
fn refusal(why: &str) -> Response<HttpBody> {
    let mut refusal = said(StatusCode::BAD_REQUEST, why);
    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    refusal
}

async fn answer(
    request: Request<Incoming>,
    gate: &EgressConnector,
    life: ConnectionGuard,
) -> Response<HttpBody> {
    let ProxyTarget { target, port } = match wanted(&request) {
        Ok(wanted) => wanted,
        Err(why) => return refusal(&why),
    };
    match gate.connect(&target, port).await {
        Err(ConnectError::Denied(why)) => {
            let line = format!("network_restricted: {target}:{port}: {why}");
            let mut refusal = said(StatusCode::FORBIDDEN, &line);
            if fault!("network.denial-bad-gateway") {
                *refusal.status_mut() = StatusCode::BAD_GATEWAY;
            }
            if let Ok(host) = HeaderValue::from_str(&target.to_string())
                && !fault!("network.denial-header")
            {
                refusal.headers_mut().insert(DENIED, host);
            }
            refusal
        }
        Err(ConnectError::Failed(error)) => {
            said(StatusCode::BAD_GATEWAY, &format!("{target}:{port} cannot be reached: {error}"))
        }
        Ok(server) if request.method() == Method::CONNECT => tunnel(request, server, life),
        Ok(server) => forward(request, &target, port, server).await,
    }
}

/// Returns the destination in the request line; header fields do not count.
fn wanted(request: &Request<Incoming>) -> Result<ProxyTarget, String> {
    let uri = request.uri();
    let tunnel = request.method() == Method::CONNECT;
    if !tunnel && uri.scheme() != Some(&Scheme::HTTP) {
        return Err("this is a proxy: it takes http://HOST/PATH and CONNECT HOST:PORT".to_owned());
    }
    if tunnel && uri.scheme().is_some() {
        return Err("CONNECT takes HOST:PORT".to_owned());
    }
    let authority = uri.authority().ok_or("the request names no host")?;
    if authority.as_str().contains('@') && !fault!("network.accounts") {
        return Err("a host with an account is not taken".to_owned());
    }
    let target = TargetHost::read(authority.host()).map_err(|error| error.to_string())?;
    match port(authority)? {
        Some(0) => Err("port 0 is none".to_owned()),
        Some(_) if tunnel && fault!("network.tunnel-port") => Ok(ProxyTarget { target, port: 443 }),
        Some(port) => Ok(ProxyTarget { target, port }),
        None if tunnel => Err("CONNECT takes HOST:PORT".to_owned()),
        None => Ok(ProxyTarget { target, port: 80 }),
    }
}

fn port(authority: &Authority) -> Result<Option<u16>, String> {
    let after = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    match after {
        "" | ":" => Ok(None),
        _ => authority.port_u16().map(Some).ok_or_else(|| format!("`{after}` is no port")),
    }
}

/// The client has all of the connection from now on.
fn tunnel(
    request: Request<Incoming>,
    server: TcpStream,
    life: ConnectionGuard,
) -> Response<HttpBody> {
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(request).await else { return };
        let Ok(Parts { io, read_buf, .. }) = upgraded.downcast::<TokioIo<FramingCheck>>() else {
            return;
        };
        let mut server = server;
        // Bytes behind the header were read with it.
        if server.write_all(&read_buf).await.is_ok() {
            pipe(io.into_inner().into_inner(), server, life).await;
        }
    });
    Response::new(full(""))
}

async fn forward(
    request: Request<Incoming>,
    target: &TargetHost,
    port: u16,
    server: TcpStream,
) -> Response<HttpBody> {
    let failed = |error: &dyn std::fmt::Display| {
        said(StatusCode::BAD_GATEWAY, &format!("{target}:{port}: {error}"))
    };
    let mut http = client::conn::http1::Builder::new();
    let (mut sender, connection) =
        match http.preserve_header_case(true).handshake(TokioIo::new(server)).await {
            Ok(both) => both,
            Err(error) => return failed(&error),
        };
    tokio::spawn(connection);
    match sender.send_request(rewritten(request, target, port)).await {
        Err(error) => failed(&error),
        Ok(mut response) => {
            if !fault!("network.answer-hops") {
                strip(response.headers_mut());
            }
            response.map(BodyExt::boxed)
        }
    }
}

/// Returns the request in the form for the origin.
fn rewritten(request: Request<Incoming>, target: &TargetHost, port: u16) -> Request<Incoming> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    if !fault!("network.request-hops") {
        strip(&mut head.headers);
    }
    let host = if port == 80 { target.to_string() } else { format!("{target}:{port}") };
    if let Ok(host) = HeaderValue::from_str(&host)
        && !fault!("network.client-host")
    {
        head.headers.insert(HOST, host);
    }
    Request::from_parts(head, body)
}

/// Removes hop-by-hop headers, including those that `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.into_iter().filter(|_| !fault!("network.named-hops")) {
        headers.remove(name);
    }
    for name in HOPS.into_iter().filter(|name| !dropped!("hop-headers", name)) {
        headers.remove(name);
    }
}

fn said(status: StatusCode, line: &str) -> Response<HttpBody> {
    let mut response = Response::new(full(format!("{line}\n")));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

fn full(text: impl Into<Bytes>) -> HttpBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed()
}
