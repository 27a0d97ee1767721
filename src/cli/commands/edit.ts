import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { objectPath, ProblemError } from '../client.ts';
import { CliError, exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { parseTargets, singular } from '../kind-words.ts';
import { describeFault, readManifests } from '../manifests.ts';
import { getObject } from '../objects.ts';
import { toYaml, withoutServerFields } from '../output/serialise.ts';
import { examples, type ScopeOptions, scopeOf, scopeOption } from '../selection.ts';
import type { Session } from '../session.ts';

export function define(command: Command, session: Session): void {
  command
    .argument('<kind>', 'a kind by any of its names, or KIND/NAME')
    .argument('[name]', 'name of the object')
    .addOption(scopeOption())
    .action((kind: string, name: string | undefined, options: ScopeOptions) =>
      edit(session, name === undefined ? [kind] : [kind, name], options),
    );
  examples(command, ['fairway edit vs shop', 'EDITOR=nano fairway edit pool/web -n team-a']);
}

async function edit(session: Session, words: readonly string[], options: ScopeOptions): Promise<void> {
  const { io } = session;
  const [target] = parseTargets(words);
  if (target?.name === undefined) throw usageError('One object is edited at a time: name it');
  const { kind, name } = target;
  const scope = await scopeOf(options, session);
  const client = await session.client();
  const object = await getObject(client, kind, scope, name);
  const label = `${singular(kind)}/${name}`;
  const before = await toYaml(withoutServerFields(object));
  const folder = mkdtempSync(join(tmpdir(), 'fairway-edit-'));
  const file = join(folder, `${name}.yaml`);
  let text = before;
  try {
    for (;;) {
      writeFileSync(file, text, { mode: 0o600 });
      await openEditor(file, io);
      const edited = withoutReport(readFileSync(file, 'utf8'));
      if (edited === before || edited.trim() === '') {
        io.out.write(`${label} unchanged\n`);
        return;
      }
      try {
        writeFileSync(file, edited);
        const [one, ...more] = await readManifests([file], io, scope);
        if (one === undefined || more.length > 0) throw usageError('One object is edited at a time');
        try {
          await client.request('PUT', objectPath(kind, scope, name), {
            body: one.draft,
            // What somebody else wrote meanwhile is not overwritten unseen.
            headers: { 'if-match': `"${object.metadata.revision}"` },
          });
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          const details = (error.problem.errors ?? []).map((fault) => describeFault(one, fault));
          const { exitCode, message, hint, requestId } = error;
          throw new CliError(exitCode, message, { details, hint, requestId, cause: error });
        }
        io.out.write(`${label} updated\n`);
        return;
      } catch (error) {
        // Without a person there is nobody who could mend it.
        if (!(error instanceof CliError) || !io.stdinIsTerminal || text === `${report(error)}${edited}`) throw error;
        text = `${report(error)}${edited}`;
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const reportMark = '#! ';

/** What was wrong, as comments above the text that is to be edited again. */
function report({ message, details }: CliError): string {
  return [message, ...details].map((line) => `${reportMark}${line}\n`).join('');
}

function withoutReport(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith(reportMark))
    .join('\n');
}

async function openEditor(file: string, { env }: Io): Promise<void> {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi';
  // By a shell: the variable may hold arguments too.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0)
    throw new CliError(exitCodes.usage, `The editor (${editor}) ended with code ${code}: nothing was changed`);
}
