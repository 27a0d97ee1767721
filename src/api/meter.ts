import type { FastifyInstance } from 'fastify';

/** Is told of requests as they go by. */
export interface RequestMeter {
  /** One came in. */
  begun(): void;
  /** It has become a watch, which goes on until it has ended. */
  watching(): void;
  ended(request: EndedRequest): void;
}

export interface EndedRequest {
  readonly method: string;
  /** The pattern of the path; `none` where there is none at the path. */
  readonly route: string;
  /** Undefined: the client went away before it had its answer. */
  readonly code: number | undefined;
  readonly seconds: number;
  readonly isWatch: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Called by a watch once it is open. */
    becomeWatch(): void;
  }
}

/** Hooks a meter in, before all other hooks, so that what these refuse is counted as well. */
export function addMeter(app: FastifyInstance, meter: RequestMeter | undefined): void {
  app.decorateRequest('becomeWatch', () => undefined);
  if (meter === undefined) return;
  app.addHook('onRequest', async (request, reply) => {
    const begun = performance.now();
    let isWatch = false;
    meter.begun();
    request.becomeWatch = () => {
      isWatch = true;
      meter.watching();
    };
    // The one event that comes in every case: `finish`, and with it onResponse, does not when the client goes away.
    reply.raw.once('close', () => {
      meter.ended({
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        code: reply.raw.writableFinished ? reply.statusCode : undefined,
        seconds: (performance.now() - begun) / 1000,
        isWatch,
      });
    });
  });
}
