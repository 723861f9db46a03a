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

use super::event_sink::{self, ActionRecord, EventSink};
use super::outcome::{AnswerEnd, OutcomeReader};
use super::outgoing_body::OutgoingBody;
use super::pty::PtyTable;
use super::request_inputs::{self, ActionItem, ItemContent};
use super::response_tap::{ActionWatch, ResponseTap};
use super::routes::{EndpointFamily, InputSource, OutcomeSource, RequestRoute, route};
use super::target::RequestTarget;
use super::upload::{self, UploadKind, UploadOutcome};
use super::upstream::{self, ExecdUpstream, UpstreamError};

/// The longest JSON body; with less than a frame's limit around it.
const BODY: usize = 8 << 20;
/// The longest body that a frame carries whole.
const FRAMED: usize = (1 << 20) - (16 << 10);

/// The state shared by all requests.
pub(super) struct ProxyContext {
    pub upstream: ExecdUpstream,
    pub teller: Arc<EventSink>,
    pub ptys: PtyTable,
    /// The token that execd requires, if only the proxy knows it.
    pub token: Option<HeaderValue>,
}

/// An answer on its way to an agent.
pub(super) type AgentResponse = Response<OutgoingBody>;

/// The reason why a request is not forwarded.
pub(super) struct RejectedRequest {
    pub status: StatusCode,
    pub why: String,
}

impl RejectedRequest {
    /// A request that two readers could read differently, or that cannot be read.
    pub(super) fn unclear(why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: why.into() }
    }
}

/// Answers one request.
pub(super) async fn answer(
    proxy: Arc<ProxyContext>,
    request: Request<Incoming>,
) -> Result<AgentResponse, Infallible> {
    let line = || format!("{} {}", request.method(), request.uri().path());
    let (answer, seen) = match RequestTarget::from_uri(request.uri()) {
        Err(why) => {
            (Err(RejectedRequest::unclear(why)), ActionLabel::unknown(line(), request.uri().path()))
        }
        Ok(target) => {
            let route = route(request.method().as_str(), &target.path);
            let seen = ActionLabel::for_route(route, line, &target);
            (proxy.answer(request, route, target, &seen).await, seen)
        }
    };
    Ok(answer.unwrap_or_else(|refusal| {
        proxy.teller.refused(seen.to_record(), &refusal.why);
        refused(&refusal)
    }))
}

/// The name of a request of which nothing else is known.
pub(super) struct ActionLabel {
    action: &'static str,
    family: Option<EndpointFamily>,
    target: Option<(String, String)>,
}

impl ActionLabel {
    fn for_route(
        route: RequestRoute,
        line: impl FnOnce() -> String,
        target: &RequestTarget,
    ) -> Self {
        let named = |action, family| Self { action, family: Some(family), target: None };
        match route {
            RequestRoute::Action { action, family, .. } => named(action, family),
            RequestRoute::PtyNew | RequestRoute::PtyAttach => {
                named("system.pty.open", EndpointFamily::Pty)
            }
            RequestRoute::PtyEnd => named("system.pty.close", EndpointFamily::Pty),
            RequestRoute::Quiet | RequestRoute::Refused | RequestRoute::Unknown => {
                Self::unknown(line(), &target.path)
            }
        }
    }

    fn unknown(line: String, path: &str) -> Self {
        // A report must have a target, so a path too long for a frame is reported as such.
        let path = if path.len() > event_sink::RESOURCE { "a path too long to tell" } else { path };
        Self { action: "unknown", family: None, target: Some((line, path.to_owned())) }
    }

    fn to_record(&self) -> ActionRecord {
        let (action, family, target) = (self.action.to_owned(), self.family, self.target.clone());
        ActionRecord { action, family, target, ..ActionRecord::default() }
    }

    fn item(&self) -> ActionItem {
        let target =
            self.target.clone().map(|(system, resource)| ItemContent::Target(system, resource));
        target.unwrap_or_default().into()
    }
}

impl ProxyContext {
    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: RequestRoute,
        target: RequestTarget,
        seen: &ActionLabel,
    ) -> Result<AgentResponse, RejectedRequest> {
        match route {
            RequestRoute::Quiet => Ok(self.pass(request).await),
            RequestRoute::Refused => Err(RejectedRequest {
                status: StatusCode::FORBIDDEN,
                why: "the port proxy of execd reaches whatever listens inside".to_owned(),
            }),
            RequestRoute::Unknown => {
                let reader = OutcomeReader::new(OutcomeSource::Nothing, false);
                let watch = self.watch(seen, vec![seen.item()], reader);
                Ok(self.watched(self.forward(request), watch).await)
            }
            RequestRoute::Action {
                asks: asks @ (InputSource::Path | InputSource::Paths),
                shows,
                ..
            } => {
                let items = items(asks, &target)?;
                let watch = self.watch(seen, items, OutcomeReader::new(shows, false));
                self.act(self.forward(request), watch, shows).await
            }
            // The future of a request is moved as a whole: rare large futures are boxed in it.
            RequestRoute::Action { asks: InputSource::Upload, .. } => {
                Box::pin(self.upload(request, &target, seen)).await
            }
            RequestRoute::Action { asks, shows, .. } => {
                Box::pin(self.act_on_body(request, seen, asks, shows)).await
            }
            RequestRoute::PtyNew => Box::pin(self.pty_new(request)).await,
            RequestRoute::PtyAttach => Box::pin(self.pty_attach(request, target.part(1))).await,
            RequestRoute::PtyEnd => Ok(Box::pin(self.pty_end(request, target.part(1))).await),
        }
    }

    fn watch(
        &self,
        seen: &ActionLabel,
        items: Vec<ActionItem>,
        reader: OutcomeReader,
    ) -> ActionWatch {
        ActionWatch::new(&self.teller, (seen.action, seen.family), items, reader)
    }

    /// Carries out an action whose request's body is read before it is forwarded.
    async fn act_on_body(
        self: &Arc<Self>,
        request: Request<Incoming>,
        seen: &ActionLabel,
        asks: InputSource,
        shows: OutcomeSource,
    ) -> Result<AgentResponse, RejectedRequest> {
        let most = if asks == InputSource::Command { FRAMED } else { BODY };
        let (request, body) = self.whole(request, most).await?;
        let asked = request_inputs::read(asks, &body).map_err(RejectedRequest::unclear)?;
        let watch = self.watch(seen, asked.items, OutcomeReader::new(shows, asked.background));
        self.act(request, watch, shows).await
    }

    /// An action of which all is known.
    async fn act(
        self: &Arc<Self>,
        request: Request<upstream::UpstreamBody>,
        watch: ActionWatch,
        shows: OutcomeSource,
    ) -> Result<AgentResponse, RejectedRequest> {
        if shows == OutcomeSource::Content {
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
        target: &RequestTarget,
        seen: &ActionLabel,
    ) -> Result<AgentResponse, RejectedRequest> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = match kind.map(multer::parse_boundary) {
            Some(Ok(boundary)) => UploadKind::Pairs(boundary),
            _ => match target.one_path().map_err(RejectedRequest::unclear)? {
                Some(path) => UploadKind::Plain(path),
                None => {
                    return Err(RejectedRequest::unclear("neither a multipart body nor a path"));
                }
            },
        };
        let mut watch =
            self.watch(seen, vec![seen.item()], OutcomeReader::new(OutcomeSource::Done, false));
        let (parts, body) = self.headed(request).into_parts();
        let (body, upload) = upload::follow(body, kind);
        let answer = self.upstream.send(Request::from_parts(parts, body)).await;
        match upload.await {
            Ok(UploadOutcome::Items(items)) => watch.items = items,
            Ok(UploadOutcome::Refused(why)) => {
                watch.forget();
                return Err(RejectedRequest::unclear(why));
            }
            Ok(UploadOutcome::Left | UploadOutcome::Unread) | Err(_) => {}
        }
        Ok(watched_answer(answer, watch, false))
    }

    /// Forwards without telling.
    pub(super) async fn pass(&self, request: Request<Incoming>) -> AgentResponse {
        match self.upstream.send(self.forward(request)).await {
            Ok(answer) => agents(answer).map(OutgoingBody::Passed),
            Err(no) => self.no_answer(&no),
        }
    }

    /// Returns the answer where execd gives none; if execd has ended, so have its shells.
    pub(super) fn no_answer(&self, no: &UpstreamError) -> AgentResponse {
        if no.unreachable {
            self.ptys.all_closed("execd is gone");
        }
        unreachable(&no.why)
    }

    async fn watched(
        &self,
        request: Request<upstream::UpstreamBody>,
        watch: ActionWatch,
    ) -> AgentResponse {
        watched_answer(self.upstream.send(request).await, watch, false)
    }

    /// Reads a body to its end, so that it can be understood before execd does.
    pub(super) async fn whole(
        &self,
        request: Request<Incoming>,
        most: usize,
    ) -> Result<(Request<upstream::UpstreamBody>, Bytes), RejectedRequest> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, most).collect().await.map_err(|error| {
            let status = match error.is::<http_body_util::LengthLimitError>() {
                true => StatusCode::PAYLOAD_TOO_LARGE,
                false => StatusCode::BAD_REQUEST,
            };
            RejectedRequest { status, why: format!("the body: {error} (at most {most} bytes)") }
        })?;
        let bytes = body.to_bytes();
        let body = Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync();
        Ok((self.headed(Request::from_parts(parts, body)), bytes))
    }

    /// Returns the request in its forwarded form.
    pub(super) fn forward(&self, request: Request<Incoming>) -> Request<upstream::UpstreamBody> {
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
fn items(asks: InputSource, target: &RequestTarget) -> Result<Vec<ActionItem>, RejectedRequest> {
    let paths: Result<Vec<String>, _> = match asks {
        InputSource::Path => target.one_path().map(|path| path.into_iter().collect()),
        _ => target.paths(),
    };
    let paths = paths.map_err(RejectedRequest::unclear)?.into_iter();
    Ok(request_inputs::or_one(paths.map(|path| ActionItem::path(path, None)).collect()))
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
    answer: Result<Response<Incoming>, UpstreamError>,
    mut watch: ActionWatch,
    drains: bool,
) -> AgentResponse {
    match answer {
        Ok(answer) => {
            watch.begins(answer.status().as_u16());
            agents(answer).map(|body| OutgoingBody::Watched(ResponseTap::new(body, watch, drains)))
        }
        Err(no) => {
            watch.end(if no.unreachable { AnswerEnd::Unreachable } else { AnswerEnd::Cut });
            unreachable(&no.why)
        }
    }
}

/// The answer where execd gives none.
pub(super) fn unreachable(why: &str) -> AgentResponse {
    plain(StatusCode::BAD_GATEWAY, "UPSTREAM_ERROR", &format!("no answer from execd: {why}"))
}

/// The answer to a request that does not go on.
pub(super) fn refused(refusal: &RejectedRequest) -> AgentResponse {
    let code = match refusal.status {
        StatusCode::BAD_REQUEST => "INVALID_REQUEST_BODY",
        _ => "NOT_SUPPORTED",
    };
    plain(refusal.status, code, &format!("refused by the receipts proxy: {}", refusal.why))
}

/// An error in execd's own form.
fn plain(status: StatusCode, code: &str, message: &str) -> AgentResponse {
    let body = serde_json::json!({"code": code, "message": message}).to_string();
    let mut answer = Response::new(OutgoingBody::Whole(Bytes::from(body).into()));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}
