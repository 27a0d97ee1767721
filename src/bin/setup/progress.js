/**
 * What the set-up shows, on standard error: on a terminal one line a step that lives while the step runs, elsewhere a
 * plain line when work starts and when it is done. A step with nothing to do leaves only its name in the last line.
 */

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;

/**
 * @typedef {object} Progress
 * @property {(name: string, work: (update: (text: string) => void) => Promise<string>) => Promise<void>} step
 *   runs one step; `update` says what it does now and that it does something, the result says what is there
 * @property {(text: string) => void} note prints a line
 * @property {() => void} close says that all is there
 */

/**
 * @param {{ isTTY?: boolean, write(text: string): unknown }} [out]
 * @returns {Progress}
 */
export function createProgress(out = process.stderr) {
  const live = out.isTTY === true;
  /** @type {string[]} */
  const present = [];
  return {
    async step(name, work) {
      const began = Date.now();
      /** @type {string | undefined} */
      let doing;
      /** @type {ReturnType<typeof setInterval> | undefined} */
      let timer;
      const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
      const draw = () => {
        const frame = frames[Math.floor(Date.now() / frameMs) % frames.length];
        out.write(`\r\x1b[K${frame} ${name}: ${doing} (${seconds()})`);
      };
      try {
        const result = await work((text) => {
          doing = text;
          if (!live) out.write(`setup: ${name}: ${text} …\n`);
          else timer ??= setInterval(draw, frameMs);
        });
        if (doing === undefined) present.push(result);
        else out.write(live ? `\r\x1b[K✓ ${result} (${seconds()})\n` : `setup: ${result}, ready after ${seconds()}\n`);
      } catch (error) {
        if (live) out.write(`\r\x1b[K✗ ${name}\n`);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
    note(text) {
      out.write(`setup: ${text}\n`);
    },
    close() {
      if (present.length > 0) out.write(`setup: already there: ${present.join(', ')}\n`);
    },
  };
}
