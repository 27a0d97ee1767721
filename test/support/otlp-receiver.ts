import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver of traces by OTLP/HTTP with JSON, as a collector has one. */
export interface OtlpReceiver {
  readonly url: string;
  /** All spans that came, in the order in which they began. */
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined: the first of its trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** In milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
  /** Of who made it. */
  readonly service: string;
  readonly isFailed: boolean;
}

/** With `status`, each request is refused with it. */
export async function startOtlpReceiver({ status = 200 }: { status?: number } = {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isTaken = status === 200 && request.url === '/v1/traces' && request.method === 'POST';
    if (isTaken) spans.push(...decode(JSON.parse(Buffer.concat(chunks).toString())));
    spans.sort((a, b) => a.from - b.from);
    response.writeHead(isTaken ? 200 : status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** opentelemetry-proto, trace/v1/trace.proto, in its JSON form. */
interface Request {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

function decode({ resourceSpans }: Request): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(factsOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        name: span.name,
        from: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        to: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        facts: factsOf(span.attributes),
        service,
        isFailed: span.status.code === 2,
      })),
    );
  });
}

function factsOf(attributes: readonly Attribute[]): ReceivedSpan['facts'] {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));
}
