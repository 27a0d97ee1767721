import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Document } from './openapi.ts';

/** Everything comes from this server: the page works without any other, and asks none. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** `/docs`: the OpenAPI document for people, with a form to try each operation. */
export function addDocs(app: FastifyInstance, document: Document): void {
  // It describes the program and holds no data: a browser has no token to show before it has seen the page.
  app.register((pages, _options, done) => {
    pages.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'open' };
    });
    addPages(pages, document);
    done();
  });
}

function addPages(app: FastifyInstance, document: Document): void {
  app.register(swagger, { mode: 'static', specification: { document: document as never } });
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: contentSecurityPolicy,
    uiConfig: { docExpansion: 'none', defaultModelsExpandDepth: 0 },
    theme: { title: 'Fairway API' },
  });
}
