/**
 * Traces by OpenTelemetry, sent as OTLP over HTTP. To be loaded by `import()` where they are wanted: nobody else pays
 * for the libraries. Nothing is registered globally, so that two servers in a process do not see each other.
 */
import {
  createTraceState,
  type Span as Recorded,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';

export type Facts = Readonly<Record<string, string | number | boolean>>;

/** A part of a trace. Times are in milliseconds since 1970. */
export interface Span {
  /** Begins a part of it, which may end after it does. */
  begin(name: string, at: number): Span;
  end(at: number, facts?: Facts, outcome?: 'ok' | 'failed'): void;
}

/** What a caller says of its own trace (W3C Trace Context). */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

export interface Traces {
  /** Begins a trace, or a part of the caller's where the headers name one; sampled as the caller's is. */
  begin(name: string, at: number, headers: TraceHeaders): Span;
  /** Sends what is left. */
  close(): Promise<void>;
}

export interface TracesOptions {
  /** Of the receiver: `http://…/v1/traces`. */
  readonly url: string;
  /** Name of this controller. */
  readonly replica: string;
  /** Called when spans could not be sent, once until some can again. What is not sent is lost. */
  readonly onFailure: (error: unknown) => void;
}

const sendEveryMs = 1_000;
/** A receiver that is out of reach must not hold up the end of the server for long. */
const sendLimitMs = 3_000;

export function openTraces({ url, replica, onFailure }: TracesOptions): Traces {
  const exporter = telling(new OTLPTraceExporter({ url, timeoutMillis: sendLimitMs }), onFailure);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'fairway', 'service.instance.id': replica }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, scheduledDelayMillis: sendEveryMs, exportTimeoutMillis: sendLimitMs }),
    ],
  });
  const tracer = provider.getTracer('fairway');

  function wrap(recorded: Recorded): Span {
    return {
      begin: (name, at) => wrap(tracer.startSpan(name, { startTime: at }, trace.setSpan(ROOT_CONTEXT, recorded))),
      end(at, facts = {}, outcome = 'ok') {
        recorded.setAttributes({ ...facts });
        if (outcome === 'failed') recorded.setStatus({ code: SpanStatusCode.ERROR });
        recorded.end(at);
      },
    };
  }

  return {
    begin: (name, at, headers) =>
      wrap(tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: at }, contextOf(headers))),
    async close() {
      // That some could not be sent was told.
      await provider.shutdown().catch(() => undefined);
    },
  };
}

/** The version 00, and what later ones have in common with it (W3C Trace Context §3.2, §4). */
const traceparentPattern = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

function contextOf({ traceparent, tracestate }: TraceHeaders) {
  const [, version, traceId = '', spanId = '', flags = '', more] = traceparentPattern.exec(traceparent ?? '') ?? [];
  if (version === '00' && more !== undefined) return ROOT_CONTEXT;
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  if (!trace.isSpanContextValid(parent)) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...parent,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
}

/** An exporter that says when it begins to fail. */
function telling(exporter: SpanExporter, onFailure: (error: unknown) => void): SpanExporter {
  let failing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined && !failing) onFailure(result.error);
        failing = result.error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
