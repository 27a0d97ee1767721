/** The thread of parse-thread.ts: text in, values or faults out. */
import { parentPort } from 'node:worker_threads';
import { parseManifest } from '../model/index.ts';
import type { ParseAnswer, ParseRequest } from './parse-thread.ts';

parentPort?.on('message', ({ id, text, format }: ParseRequest) => {
  const answer: ParseAnswer = { id, values: parseManifest(text, { format }) };
  parentPort?.postMessage(answer);
});
