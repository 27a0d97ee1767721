import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { docsHost, nodeName, type Stage, shop, type Walk } from '../stage.ts';

/** Says where everything is, and what to try. */
export function invite({ report, children }: Walk, stage: Stage): void {
  const { rest, adminPort, web, secure, echo } = stage;
  report.heading('It goes on running. Where things are');
  report.text([
    `REST API      ${rest.url}/docs (described in ${rest.url}/openapi.json, metrics in ${rest.url}/metrics)`,
    `Envoy admin   http://127.0.0.1:${adminPort}`,
    `shop          http://127.0.0.1:${web} and https://127.0.0.1:${secure}, for the host ${shop.host}`,
    `echo          127.0.0.1:${echo}, TCP`,
    ...children.all.map(({ name, logFile }) => `${`log of ${name}`.padEnd(14)}${logFile}`),
  ]);
  report.heading('Commands to try in another terminal');
  report.text([
    `export FAIRWAY_SERVER=${rest.url}`,
    `fairway() { node ${launcher()} "$@"; }`,
    'fairway status',
    'fairway get vs,pool,route -A',
    'fairway describe vs shop',
    `fairway proxies ${nodeName}`,
    'fairway get pool web -o yaml',
    'fairway edit pool web',
    `curl -H 'Host: ${shop.host}' http://127.0.0.1:${web}/api/items`,
    `curl -H 'Host: ${docsHost}' http://127.0.0.1:${web}/guide`,
    '',
    'Ctrl-C ends it and leaves nothing behind.',
  ]);
}

/** The launcher as it is reached from here. */
function launcher(): string {
  const path = fileURLToPath(new URL('../../bin/fairway.js', import.meta.url));
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}
