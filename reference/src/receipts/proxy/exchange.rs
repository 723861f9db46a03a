//! One request: its route, the decision to forward it, and the watch of the answer.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Request, Response, StatusCode};
use tokio::sync::oneshot;

use super::asked::{self, Item, Named};
use super::outcome::{Ended, Reader};
use super::outgoing::Outgoing;
use super::pty::Ptys;
use super::routes::{Asks, Family, Route, Shows, route};
use super::target::Target;
use super::tell::{self, Teller, Told};
use super::upload::{self, Kind, Upload};
use super::upstream::{self, NoAnswer, Upstream};
use super::watch::{Watch, Watched};

/// The longest JSON body; with less than a frame's limit around it.
const BODY: usize = 8 << 20;
/// The longest body that a frame carries whole.
const FRAMED: usize = (1 << 20) - (16 << 10);

/// The state shared by all requests.
pub(super) struct Proxy {
    pub upstream: Upstream,
    pub teller: Arc<Teller>,
    pub ptys: Ptys,
    /// The token that execd requires, if only the proxy knows it.
    pub token: Option<HeaderValue>,
}

/// An answer on its way to an agent.
pub(super) type Answer = Response<Outgoing>;

/// The reason why a request is not forwarded.
pub(super) struct Refusal {
    pub status: StatusCode,
    pub why: String,
}

impl Refusal {
    /// A request that two readers could read differently, or that cannot be read.
    pub(super) fn unclear(why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: why.into() }
    }
}

/// Answers one request.
pub(super) async fn answer(
    proxy: Arc<Proxy>,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let line = || format!("{} {}", request.method(), request.uri().path());
    let (answer, seen) = match Target::of(request.uri()) {
        Err(why) => (Err(Refusal::unclear(why)), Seen::unknown(line(), request.uri().path())),
        Ok(target) => {
            let route = route(request.method().as_str(), &target.path);
            let seen = Seen::of(route, line, &target);
            (proxy.answer(request, route, target, &seen).await, seen)
        }
    };
    Ok(answer.unwrap_or_else(|refusal| {
        proxy.teller.refused(seen.told(), &refusal.why);
        refused(&refusal)
    }))
}

/// The name of a request of which nothing else is known.
pub(super) struct Seen {
    action: &'static str,
    family: Option<Family>,
    target: Option<(String, String)>,
}

impl Seen {
    fn of(route: Route, line: impl FnOnce() -> String, target: &Target) -> Self {
        let named = |action, family| Self { action, family: Some(family), target: None };
        match route {
            Route::Action { action, family, .. } => named(action, family),
            Route::PtyNew | Route::PtyAttach => named("system.pty.open", Family::Pty),
            Route::PtyEnd => named("system.pty.close", Family::Pty),
            Route::Quiet | Route::Refused | Route::Unknown => Self::unknown(line(), &target.path),
        }
    }

    fn unknown(line: String, path: &str) -> Self {
        // A report must have a target, so a path too long for a frame is reported as such.
        let path = if path.len() > tell::RESOURCE { "a path too long to tell" } else { path };
        Self { action: "unknown", family: None, target: Some((line, path.to_owned())) }
    }

    fn told(&self) -> Told {
        let (action, family, target) = (self.action.to_owned(), self.family, self.target.clone());
        Told { action, family, target, ..Told::default() }
    }

    fn item(&self) -> Item {
        let target = self.target.clone().map(|(system, resource)| Named::Target(system, resource));
        target.unwrap_or_default().into()
    }
}

impl Proxy {
    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: Route,
        target: Target,
        seen: &Seen,
    ) -> Result<Answer, Refusal> {
        match route {
            Route::Quiet => Ok(self.pass(request).await),
            Route::Refused => Err(Refusal {
                status: StatusCode::FORBIDDEN,
                why: "the port proxy of execd reaches whatever listens inside".to_owned(),
            }),
            Route::Unknown => {
                let reader = Reader::new(Shows::Nothing, false);
                let watch = self.watch(seen, vec![seen.item()], reader);
                Ok(self.watched(self.forward(request), watch).await)
            }
            Route::Action { asks: asks @ (Asks::Path | Asks::Paths), shows, .. } => {
                let items = items(asks, &target)?;
                let watch = self.watch(seen, items, Reader::new(shows, false));
                self.act(self.forward(request), watch, shows).await
            }
            // The future of a request is moved as a whole: rare large futures are boxed in it.
            Route::Action { asks: Asks::Upload, .. } => {
                Box::pin(self.upload(request, &target, seen)).await
            }
            Route::Action { asks, shows, .. } => {
                Box::pin(self.act_on_body(request, seen, asks, shows)).await
            }
            Route::PtyNew => Box::pin(self.pty_new(request)).await,
            Route::PtyAttach => Box::pin(self.pty_attach(request, target.part(1))).await,
            Route::PtyEnd => Ok(Box::pin(self.pty_end(request, target.part(1))).await),
        }
    }

    fn watch(&self, seen: &Seen, items: Vec<Item>, reader: Reader) -> Watch {
        Watch::new(&self.teller, (seen.action, seen.family), items, reader)
    }

    /// Carries out an action whose request's body is read before it is forwarded.
    async fn act_on_body(
        self: &Arc<Self>,
        request: Request<Incoming>,
        seen: &Seen,
        asks: Asks,
        shows: Shows,
    ) -> Result<Answer, Refusal> {
        let most = if asks == Asks::Command { FRAMED } else { BODY };
        let (request, body) = self.whole(request, most).await?;
        let asked = asked::read(asks, &body).map_err(Refusal::unclear)?;
        let watch = self.watch(seen, asked.items, Reader::new(shows, asked.background));
        self.act(request, watch, shows).await
    }

    /// An action of which all is known.
    async fn act(
        self: &Arc<Self>,
        request: Request<upstream::Body>,
        watch: Watch,
        shows: Shows,
    ) -> Result<Answer, Refusal> {
        if shows == Shows::Content {
            return Ok(self.watched(request, watch).await);
        }
        // An action that was begun continues without the agent, and so does the watch of its end.
        let (proxy, (tell, told)) = (Arc::clone(self), oneshot::channel());
        tokio::spawn(async move {
            let answer = proxy.upstream.send(request).await;
            // An answer without a receiver is dropped, and read on from there.
            drop(tell.send(watched_answer(answer, watch, true)));
        });
        Ok(told.await.unwrap_or_else(|_| unreachable("the proxy is being stopped")))
    }

    async fn upload(
        self: &Arc<Self>,
        request: Request<Incoming>,
        target: &Target,
        seen: &Seen,
    ) -> Result<Answer, Refusal> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = match kind.map(multer::parse_boundary) {
            Some(Ok(boundary)) => Kind::Pairs(boundary),
            _ => match target.one_path().map_err(Refusal::unclear)? {
                Some(path) => Kind::Plain(path),
                None => return Err(Refusal::unclear("neither a multipart body nor a path")),
            },
        };
        let mut watch = self.watch(seen, vec![seen.item()], Reader::new(Shows::Done, false));
        let (parts, body) = self.headed(request).into_parts();
        let (body, upload) = upload::follow(body, kind);
        let answer = self.upstream.send(Request::from_parts(parts, body)).await;
        match upload.await {
            Ok(Upload::Items(items)) => watch.items = items,
            Ok(Upload::Refused(why)) => {
                watch.forget();
                return Err(Refusal::unclear(why));
            }
            Ok(Upload::Left | Upload::Unread) | Err(_) => {}
        }
        Ok(watched_answer(answer, watch, false))
    }

    /// Forwards without telling.
    pub(super) async fn pass(&self, request: Request<Incoming>) -> Answer {
        match self.upstream.send(self.forward(request)).await {
            Ok(answer) => agents(answer).map(Outgoing::Passed),
            Err(no) => self.no_answer(&no),
        }
    }

    /// Returns the answer where execd gives none; if execd has ended, so have its shells.
    pub(super) fn no_answer(&self, no: &NoAnswer) -> Answer {
        if no.unreachable {
            self.ptys.all_closed("execd is gone");
        }
        unreachable(&no.why)
    }

    async fn watched(&self, request: Request<upstream::Body>, watch: Watch) -> Answer {
        watched_answer(self.upstream.send(request).await, watch, false)
    }

    /// Reads a body to its end, so that it can be understood before execd does.
    pub(super) async fn whole(
        &self,
        request: Request<Incoming>,
        most: usize,
    ) -> Result<(Request<upstream::Body>, Bytes), Refusal> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, most).collect().await.map_err(|error| {
            let status = match error.is::<http_body_util::LengthLimitError>() {
                true => StatusCode::PAYLOAD_TOO_LARGE,
                false => StatusCode::BAD_REQUEST,
            };
            Refusal { status, why: format!("the body: {error} (at most {most} bytes)") }
        })?;
        let bytes = body.to_bytes();
        let body = Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync();
        Ok((self.headed(Request::from_parts(parts, body)), bytes))
    }

    /// Returns the request in its forwarded form.
    pub(super) fn forward(&self, request: Request<Incoming>) -> Request<upstream::Body> {
        self.headed(request.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    pub(super) fn headed<B>(&self, mut request: Request<B>) -> Request<B> {
        strip(request.headers_mut(), &BETWEEN_TWO);
        if let Some(token) = &self.token {
            request.headers_mut().insert(TOKEN, token.clone());
        }
        *request.version_mut() = hyper::Version::HTTP_11;
        request
    }
}

/// Returns the items that a query names.
fn items(asks: Asks, target: &Target) -> Result<Vec<Item>, Refusal> {
    let paths: Result<Vec<String>, _> = match asks {
        Asks::Path => target.one_path().map(|path| path.into_iter().collect()),
        _ => target.paths(),
    };
    let paths = paths.map_err(Refusal::unclear)?.into_iter();
    Ok(asked::or_one(paths.map(|path| Item::path(path, None)).collect()))
}

/// The header by which execd knows its callers.
const TOKEN: HeaderName = HeaderName::from_static("x-execd-access-token");

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Headers that concern one connection alone; the first three are found in answers, too.
const BETWEEN_TWO: [HeaderName; 8] =
    [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, EXPECT];

fn agents(mut answer: Response<Incoming>) -> Response<Incoming> {
    strip(answer.headers_mut(), &BETWEEN_TWO[..3]);
    answer
}

/// Removes the named headers. Most messages have none of them, and scanning their few headers is
/// faster.
fn strip(headers: &mut HeaderMap, names: &[HeaderName]) {
    if headers.keys().any(|name| names.contains(name)) {
        for name in names {
            headers.remove(name);
        }
    }
}

fn watched_answer(
    answer: Result<Response<Incoming>, NoAnswer>,
    mut watch: Watch,
    drains: bool,
) -> Answer {
    match answer {
        Ok(answer) => {
            watch.begins(answer.status().as_u16());
            agents(answer).map(|body| Outgoing::Watched(Watched::new(body, watch, drains)))
        }
        Err(no) => {
            watch.end(if no.unreachable { Ended::Unreachable } else { Ended::Cut });
            unreachable(&no.why)
        }
    }
}

/// The answer where execd gives none.
pub(super) fn unreachable(why: &str) -> Answer {
    plain(StatusCode::BAD_GATEWAY, "UPSTREAM_ERROR", &format!("no answer from execd: {why}"))
}

/// The answer to a request that does not go on.
pub(super) fn refused(refusal: &Refusal) -> Answer {
    let code = match refusal.status {
        StatusCode::BAD_REQUEST => "INVALID_REQUEST_BODY",
        _ => "NOT_SUPPORTED",
    };
    plain(refusal.status, code, &format!("refused by the receipts proxy: {}", refusal.why))
}

/// An error in execd's own form.
fn plain(status: StatusCode, code: &str, message: &str) -> Answer {
    let body = serde_json::json!({"code": code, "message": message}).to_string();
    let mut answer = Response::new(Outgoing::Whole(Bytes::from(body).into()));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}
