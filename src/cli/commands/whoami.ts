import { type Command, Option } from 'commander';
import { toJson, toYaml } from '../output/serialise.ts';
import { renderTable } from '../output/table.ts';
import type { Session } from '../session.ts';
import type { WireGrant, WireWhoami } from '../wire.ts';

export function define(command: Command, session: Session): void {
  command
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(['table', 'yaml', 'json']).default('table'),
    )
    .action(({ output }: { readonly output: string }) => whoami(session, output));
}

async function whoami(session: Session, output: string): Promise<void> {
  const { io, paint } = session;
  const client = await session.client();
  const answer = (await client.request('GET', '/v1/whoami')) as WireWhoami;
  if (output === 'json') io.out.write(toJson(answer));
  else if (output === 'yaml') io.out.write(await toYaml(answer));
  else {
    const { name, kind, groups = [], grants = [] } = answer;
    const line = (label: string, value: string) => io.out.write(`${paint('faint', `${label}:`.padEnd(8))}${value}\n`);
    line('Name', `${name} (${kind})`);
    if (groups.length > 0) line('Groups', groups.join(', '));
    if (grants.length === 0) {
      io.err.write('Nothing was given to you: a RoleBinding has to name you or a group of yours.\n');
      return;
    }
    const listed = (values: readonly string[] = []) => (values.length === 0 ? '-' : values.join(','));
    const columns = [
      { title: 'BINDING', cell: ({ binding }: WireGrant) => binding },
      { title: 'ROLE', cell: ({ role = '-' }: WireGrant) => role },
      { title: 'SCOPES', cell: ({ scopes }: WireGrant) => listed(scopes) },
      { title: 'PERMISSIONS', cell: ({ permissions }: WireGrant) => listed(permissions) },
    ];
    io.out.write(`\n${renderTable(columns, grants, { width: io.out.columns, paint })}`);
  }
}
