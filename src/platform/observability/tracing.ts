import type { IncomingMessage } from 'node:http';
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/**
 * The service makes spans only if the operator preloads an OpenTelemetry SDK (`node --import …`). Like the log, spans
 * contain no IP address, name, reference or body.
 */

const provider = trace.getTracerProvider();

export const tracing = !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('ars') !== undefined;

const tracer = trace.getTracer('ars');

function failed(span: Span, error: unknown): void {
  // The span gets only the error's name, because the message may contain personal data.
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
  kind: SpanKind = SpanKind.INTERNAL,
): Promise<T> {
  if (!tracing) return work();
  return tracer.startActiveSpan(name, { attributes, kind }, async (span) => {
    try {
      return await work();
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** A request's span, and the context in which further spans become its children. */
export type RequestSpan = { span: Span; within: Context };

export function beginRequest(request: IncomingMessage): RequestSpan {
  const above = propagation.extract(ROOT_CONTEXT, request.headers);
  const attributes = { 'http.request.method': request.method ?? '' };
  const span = tracer.startSpan(request.method ?? 'request', { kind: SpanKind.SERVER, attributes }, above);
  return { span, within: trace.setSpan(above, span) };
}

export function withinRequest<T>({ within }: RequestSpan, work: () => T): T {
  return context.with(within, work);
}

/** @param route method and route, without anything that the client chose */
export function endRequest({ span }: RequestSpan, route: string, status: number, requestId: string): void {
  span.updateName(route);
  span.setAttributes({
    'http.route': route.slice(route.indexOf(' ') + 1),
    'http.response.status_code': status,
    'ars.request_id': requestId,
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
