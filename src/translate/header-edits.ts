import { create } from '@bufbuild/protobuf';
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from '../gen/envoy/config/core/v3/base_pb.js';
import type { HeaderEdits } from '../model/index.ts';

/** Headers to set and to add, in an order of their own. */
export function headersToAdd(edits: HeaderEdits | undefined): HeaderValueOption[] {
  const { OVERWRITE_IF_EXISTS_OR_ADD, APPEND_IF_EXISTS_OR_ADD } = HeaderValueOption_HeaderAppendAction;
  return [...options(edits?.set, OVERWRITE_IF_EXISTS_OR_ADD), ...options(edits?.add, APPEND_IF_EXISTS_OR_ADD)];
}

export function headersToRemove(edits: HeaderEdits | undefined): string[] {
  return (edits?.remove ?? []).map((name) => name.toLowerCase()).sort();
}

function options(
  values: Readonly<Record<string, string>> = {},
  appendAction: HeaderValueOption_HeaderAppendAction,
): HeaderValueOption[] {
  return Object.entries(values)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) =>
      create(HeaderValueOptionSchema, {
        // Values are literal; to Envoy a percent sign begins a variable.
        header: { key, value: value.replaceAll('%', '%%') },
        appendAction,
        keepEmptyValue: value === '',
      }),
    );
}
