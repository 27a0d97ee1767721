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
  app.register(swagger, { mode: 'static', specification: { document: document as never } });
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: contentSecurityPolicy,
    uiConfig: { docExpansion: 'none', defaultModelsExpandDepth: 0 },
    theme: { title: 'Fairway API' },
  });
}
