import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { clientCommands, processCommands } from '../../src/cli/command-table.ts';
import { exitCodes } from '../../src/cli/failure.ts';
import { serverDefaults, serverFields } from '../../src/config/index.ts';
import { envoyVersion } from '../../src/lib/envoy-binary.js';
import { kindNames, parseManifest, parseObject } from '../../src/model/index.ts';
import { namesOfKinds } from '../../src/model/kind.ts';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { blocksOf, readme, sectionOf, tableOf } from '../support/readme.ts';

// What the README says is what there is, both ways. The tour is run by test/peer/readme.test.ts.

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');

describe('the tables of the README', () => {
  it('have every field of the configuration', () => {
    const coded = Object.entries(serverFields).map(([field, { flag, env, help }]) => {
      const value = serverDefaults[field as keyof typeof serverDefaults];
      return [field, flag, env, String(value), help];
    });
    expect(tableOf(sectionOf('Configuration of a server'), 'field')).toEqual(coded);
  });

  it('have every metric of our own', () => {
    const coded = Object.values(metricTable).map(({ name, type, labels, help }) => [
      name,
      type,
      labels.join(', '),
      help,
    ]);
    expect(tableOf(sectionOf('Metrics'), 'metric')).toEqual(coded);
  });

  it('have every metric of the process', async () => {
    const all = await createMetrics().registry.getMetricsAsJSON();
    const ofNode = all.filter(({ name }) => /^fairway_(process|nodejs)_/.test(name));
    const coded = ofNode.map(({ name, type, help }) => [name, String(type), help]);
    expect(tableOf(sectionOf('Metrics'), 'metric of the process')).toEqual(coded);
  });

  it('have every command', () => {
    const commands = [...processCommands, ...clientCommands].map(({ name }) => `fairway ${name}`);
    expect(tableOf(sectionOf('Command line'), 'command').map(([command]) => command)).toEqual(commands);
  });

  it('have every exit code', () => {
    const codes = tableOf(sectionOf('Command line'), 'exit code').map(([code]) => Number(code));
    expect(codes).toEqual(Object.values(exitCodes));
  });

  it('have every script of package.json', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const told = tableOf(sectionOf('Development'), 'script').map(([script]) => script?.replace(/^npm (run )?/, ''));
    expect(told.toSorted()).toEqual(Object.keys(scripts).toSorted());
  });

  it('have every kind', () => {
    const coded = kindNames.map((kind) => {
      const { global, shortNames } = namesOfKinds[kind];
      return [global ? `${kind} (global)` : kind, shortNames.join(', ')];
    });
    const told = tableOf(sectionOf('Kinds'), 'kind').map(([kind, short]) => [kind, short]);
    expect(told.toSorted()).toEqual(coded.toSorted());
  });

  it('have every room', () => {
    const text = tableOf(sectionOf('Rooms'), 'ring')
      .map(([, rooms]) => rooms)
      .join(' ');
    const rooms = readdirSync(`${root}src`).filter((name) => name !== 'bin');
    expect(rooms.filter((room) => !new RegExp(`\\b${room}\\b`).test(text))).toEqual([]);
  });
});

/** Certificates and keys are left out in the README; the model wants some. */
function withPem(text: string): string {
  const pem = (label: string) => new RegExp(`( *)-----BEGIN ${label}-----\\n *…\\n *-----END ${label}-----\\n`, 'g');
  const fill = (file: string) => (_all: string, indent: string) =>
    read(`test/support/certificates/${file}`).replaceAll(/^(?=.)/gm, indent);
  return text.replaceAll(pem('CERTIFICATE'), fill('p256.pem')).replaceAll(pem('PRIVATE KEY'), fill('p256.key.pem'));
}

const yamlBlocks = blocksOf(readme).filter(({ info }) => info === 'yaml');
const manifests = yamlBlocks.filter(({ text }) => text.includes('apiVersion: fairway/v1'));

describe('the manifests of the README', () => {
  it.each(manifests.map(({ line, text }) => [line, text] as const))('of line %i are valid', (_line, text) => {
    const documents = parseManifest(withPem(text), { format: 'yaml' });
    if (!documents.ok) throw new Error(JSON.stringify(documents.error));
    const faults = documents.value.flatMap((document) => {
      const object = parseObject(document);
      return object.ok ? [] : object.error;
    });
    expect(faults).toEqual([]);
  });

  it('show every kind', () => {
    const kinds = manifests.flatMap(({ text }) =>
      parseAllDocuments(text).map((document) => (document.toJS() as { kind: string }).kind),
    );
    expect([...new Set(kinds)].toSorted()).toEqual(kindNames.toSorted());
  });
});

describe('the bootstrap of the README', () => {
  const [block] = blocksOf(sectionOf('An Envoy of your own')).filter(({ info }) => info === 'yaml');

  it('is a part of the template', () => {
    expect(parseDocument(read('envoy/bootstrap/proxy.yaml')).toJS()).toMatchObject(
      parseDocument(block?.text ?? '').toJS() as object,
    );
  });

  it('goes with the Envoy that is tested', () => {
    expect(sectionOf('An Envoy of your own')).toContain(`Envoy ${envoyVersion}`);
  });
});

it('the README names no file that is not there', () => {
  const paths = [...readme.matchAll(/`((?:src|test|envoy|bench|protos|\.ci)\/[\w./-]*)`/g)].map(([, path]) =>
    String(path),
  );
  expect(paths.length).toBeGreaterThan(5);
  const missing = paths.filter((path) => {
    try {
      read(path);
      return false;
    } catch (error) {
      // A folder is there.
      return (error as NodeJS.ErrnoException).code !== 'EISDIR';
    }
  });
  expect(missing).toEqual(['src/model/NAME.ts']);
});
