/** Preloaded into a process (`--import`): writes what it has loaded from files to `FAIRWAY_MODULE_TRACE`, at its end. */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set();
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) loaded.add(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env['FAIRWAY_MODULE_TRACE'] ?? '', [...loaded].join('\n')));
