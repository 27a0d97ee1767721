import { create } from '@bufbuild/protobuf';
import { StringValueSchema } from '@bufbuild/protobuf/wkt';
import { type Matcher, MatcherSchema } from '../gen/xds/type/matcher/v3/matcher_pb.js';
import { pack } from './encode.ts';

/**
 * The choice of a TCP listener's filter chain by client: the place where its policy is enforced, before a byte goes to
 * a backend, and the one part of a listener that changes without draining anybody. Without a policy all clients get
 * the serving chain.
 */
export function allowAll(chain: string): Matcher {
  return create(MatcherSchema, {
    onNoMatch: {
      onMatch: {
        case: 'action',
        value: {
          name: chain,
          typedConfig: pack(StringValueSchema, create(StringValueSchema, { value: chain })),
        },
      },
    },
  });
}
