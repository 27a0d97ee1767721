import { setTimeout as sleep } from 'node:timers/promises';
import type { Kind } from '../model/kind.ts';
import type { Client } from './client.ts';
import { CliError, exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { singular } from './kind-words.ts';
import { findObject } from './objects.ts';
import type { WireCondition, WireObject } from './wire.ts';

/** Waiting until objects are as somebody wants them. */

export type Goal =
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'condition';
      readonly type: string;
      readonly status: WireCondition['status'];
      /** Reasons that will do as well, whatever the status. */
      readonly orReasons?: readonly string[];
    };

export const programmed = { kind: 'condition', type: 'Programmed', status: 'True' } as const satisfies Goal;

/** As far as an object can get that nobody uses or that is switched off: no proxy is meant to have it. */
export const settled: Goal = { ...programmed, orReasons: ['NotReferenced', 'Disabled'] };

export interface Awaited {
  readonly kind: Kind;
  readonly scope: string;
  readonly name: string;
}

/** Whether an object is as it is waited for. What an older generation came to says nothing about this one. */
export function isReached(goal: Goal, object: WireObject | undefined): boolean {
  if (goal.kind === 'gone') return object === undefined;
  const condition = conditionOf(goal.type, object);
  if (condition === undefined || object === undefined) return false;
  const seen = condition.observedGeneration ?? object.metadata.generation;
  const isRight = condition.status === goal.status || goal.orReasons?.includes(condition.reason) === true;
  return isRight && seen === object.metadata.generation;
}

function conditionOf(type: string, object: WireObject | undefined): WireCondition | undefined {
  return object?.status?.conditions?.find((one) => one.type.toLowerCase() === type.toLowerCase());
}

/** How often to look: often at first, since most of what is waited for takes milliseconds. */
const firstLookMs = 50;
const longestLookMs = 1000;

/** Resolves when every object is there, telling of each; fails with exit code 4 when one is not in time. */
export async function waitForAll(
  client: Client,
  io: Io,
  awaited: readonly Awaited[],
  goal: Goal,
  timeoutMs: number,
): Promise<void> {
  const deadline = io.now() + timeoutMs;
  const outcomes = await Promise.allSettled(awaited.map((one) => waitFor(client, io, one, goal, deadline)));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const [first, ...more] = failures;
  if (first === undefined) return;
  const late = failures.filter((failure) => failure instanceof CliError && failure.exitCode === exitCodes.timeout);
  if (more.length === 0 || late.length < failures.length) throw first;
  throw new CliError(exitCodes.timeout, `${late.length} objects did not get there in time`, {
    details: late.map((failure) => (failure as CliError).message),
  });
}

async function waitFor(client: Client, io: Io, awaited: Awaited, goal: Goal, deadline: number): Promise<void> {
  const { kind, scope, name } = awaited;
  const label = `${singular(kind)}/${name}`;
  for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 1.5, longestLookMs)) {
    const object = await findObject(client, kind, scope, name);
    if (isReached(goal, object)) {
      io.out.write(`${label} ${achieved(goal, object)}\n`);
      return;
    }
    const restMs = deadline - io.now();
    if (restMs <= 0)
      throw new CliError(exitCodes.timeout, `${label} did not get there in time: ${found(goal, object)}`);
    await sleep(Math.min(lookMs, restMs));
  }
}

function achieved(goal: Goal, object: WireObject | undefined): string {
  if (goal.kind === 'gone') return 'is gone';
  const { status, reason = '' } = conditionOf(goal.type, object) ?? {};
  if (status !== goal.status) return `needs no proxy: ${reason}`;
  return `is ${goal.type}${status === 'True' ? '' : `=${status}`}`;
}

/** How an object is that is not as it should be. */
function found(goal: Goal, object: WireObject | undefined): string {
  if (object === undefined) return 'there is no such object';
  if (goal.kind === 'gone') return 'it is still there';
  const condition = conditionOf(goal.type, object);
  if (condition === undefined) return `it has no condition ${goal.type}`;
  return `${condition.type} is ${condition.status}, ${condition.reason}: ${condition.message}`;
}
