import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { ResourceSchema } from '../gen/envoy/service/discovery/v3/discovery_pb.js';
import { InvariantError } from '../lib/errors.ts';
import type { Resource } from '../xds/index.ts';

/** The message inside a resource that this room made. */
export function decode<D extends DescMessage>(schema: D, resource: Resource): MessageShape<D> {
  const any = fromBinary(ResourceSchema, resource.bytes).resource;
  const message = any === undefined ? undefined : unpack(schema, any);
  if (message === undefined) throw new InvariantError(`${resource.name} is no ${schema.typeName}`);
  return message;
}

/** The message inside an `Any`; undefined when it is of another type. */
export function unpack<D extends DescMessage>(schema: D, any: Any | undefined): MessageShape<D> | undefined {
  return any?.typeUrl === `type.googleapis.com/${schema.typeName}` ? fromBinary(schema, any.value) : undefined;
}

/** The typed configuration of an extension in whichever of its forms; undefined when it is of another type. */
export function typedConfigOf<D extends DescMessage>(
  schema: D,
  config: { readonly case: string | undefined; readonly value?: unknown },
): MessageShape<D> | undefined {
  const { value } = config;
  const isAny =
    typeof value === 'object' && value !== null && '$typeName' in value && value.$typeName === AnySchema.typeName;
  return config.case === 'typedConfig' && isAny ? unpack(schema, value as Any) : undefined;
}
