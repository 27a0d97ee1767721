/**
 * Says at the end what was skipped and why, how many minutes each project took, and as the very last line of the
 * output `N passed, N failed, N skipped`. A file that cannot be loaded, and an error outside of any test, count as one
 * failure each.
 */
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** What one run came to. */
interface Tally {
  passed: number;
  failed: number;
  /** Full name of each skipped test, with the note that it gave to `skip`. */
  readonly skipped: string[];
  readonly projects: Map<string, { files: number; tests: number; ms: number }>;
}

export function tally(modules: readonly TestModule[], outside: readonly SerializedError[]): Tally {
  const sum: Tally = { passed: 0, failed: outside.length, skipped: [], projects: new Map() };
  for (const module of modules) {
    let tests = 0;
    let failures = 0;
    for (const test of module.children.allTests()) {
      const result = test.result();
      tests += 1;
      if (result.state === 'passed') sum.passed += 1;
      else if (result.state === 'failed') failures += 1;
      else if (result.state === 'skipped') sum.skipped.push(`${test.fullName}: ${result.note ?? 'no reason given'}`);
      else failures += 1; // still pending at the end of the run: it never ran
    }
    // Broken outside of its tests: a syntax error, a hook that throws, no test in it.
    if (failures === 0 && (module.state() === 'failed' || module.errors().length > 0)) failures = 1;
    sum.failed += failures;
    const project = sum.projects.get(module.project.name) ?? { files: 0, tests: 0, ms: 0 };
    project.files += 1;
    project.tests += tests;
    sum.projects.set(module.project.name, project);
  }
  return sum;
}

/** The text after vitest's own summary; its last line is the count. */
export function summary({ passed, failed, skipped, projects }: Tally): string {
  const lines = skipped.map((text) => `skipped: ${text}`);
  for (const [name, { files, tests, ms }] of projects) {
    lines.push(`${name}: ${tests} tests in ${files} files, ${(ms / 60_000).toFixed(1)} min`);
  }
  lines.push(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return `${lines.join('\n')}\n`;
}

/** vitest loads a reporter by its path, and takes the default export. */
// biome-ignore lint/style/noDefaultExport: see above
export default class implements Reporter {
  #vitest: Vitest | undefined;
  /** First start and last end of a file, by project. */
  readonly #spans = new Map<string, { from: number; to: number }>();

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestModuleStart(module: TestModule): void {
    const now = Date.now();
    const { name } = module.project;
    if (!this.#spans.has(name)) this.#spans.set(name, { from: now, to: now });
  }

  onTestModuleEnd(module: TestModule): void {
    const span = this.#spans.get(module.project.name);
    if (span !== undefined) span.to = Date.now();
  }

  onTestRunEnd(modules: readonly TestModule[], outside: readonly SerializedError[]): void {
    const sum = tally(modules, outside);
    for (const [name, project] of sum.projects) {
      const span = this.#spans.get(name);
      if (span !== undefined) project.ms = span.to - span.from;
    }
    this.#spans.clear();
    const text = summary(sum);
    if (this.#vitest?.config.watch === true) process.stdout.write(text);
    // Whatever else vitest still has to say, about handles left open for instance, comes before.
    else process.once('exit', () => process.stdout.write(text));
  }
}
