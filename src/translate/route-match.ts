import { create } from '@bufbuild/protobuf';
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
} from '../gen/envoy/config/route/v3/route_components_pb.js';
import { RegexMatcherSchema } from '../gen/envoy/type/matcher/v3/regex_pb.js';
import type { StringMatcher } from '../gen/envoy/type/matcher/v3/string_pb.js';
import { StringMatcherSchema } from '../gen/envoy/type/matcher/v3/string_pb.js';
import type { HeaderMatch, Match, PathMatch, QueryMatch } from '../model/index.ts';

/** RouteMatch: what a request must look like. */
export function routeMatch(match: Match): RouteMatch {
  return create(RouteMatchSchema, {
    pathSpecifier: pathSpecifier(match.path),
    headers: [...methodMatcher(match.methods), ...(match.headers ?? []).map(headerMatcher)],
    queryParameters: (match.query ?? []).map(queryMatcher),
  });
}

function pathSpecifier(path: PathMatch | undefined): RouteMatch['pathSpecifier'] {
  if (path?.exact !== undefined) return { case: 'path', value: path.exact };
  if (path?.regex !== undefined) return { case: 'safeRegex', value: regexOf(path.regex) };
  const prefix = path?.prefix ?? '/';
  // A prefix ends at a segment. Envoy's matcher for that refuses one that ends in a slash, which is whole already.
  return prefix.endsWith('/') ? { case: 'prefix', value: prefix } : { case: 'pathSeparatedPrefix', value: prefix };
}

function methodMatcher(methods: Match['methods']): HeaderMatcher[] {
  if (methods === undefined) return [];
  const [only] = methods;
  const text: TextMatch =
    methods.length === 1 && only !== undefined ? { exact: only } : { regex: [...methods].sort().join('|') };
  return [
    create(HeaderMatcherSchema, {
      name: ':method',
      headerMatchSpecifier: { case: 'stringMatch', value: stringMatcher(text) },
    }),
  ];
}

function headerMatcher(header: HeaderMatch): HeaderMatcher {
  const invertMatch = header.invert ?? false;
  const name = header.name.toLowerCase();
  if (header.present === true) {
    return create(HeaderMatcherSchema, {
      name,
      invertMatch,
      headerMatchSpecifier: { case: 'presentMatch', value: true },
    });
  }
  return create(HeaderMatcherSchema, {
    name,
    invertMatch,
    // Envoy lets no absent header match, inverted or not, unless it is taken as an empty one.
    treatMissingHeaderAsEmpty: invertMatch,
    headerMatchSpecifier: { case: 'stringMatch', value: stringMatcher(header) },
  });
}

function queryMatcher(query: QueryMatch): QueryParameterMatcher {
  return create(QueryParameterMatcherSchema, {
    name: query.name,
    queryParameterMatchSpecifier:
      query.present === true
        ? { case: 'presentMatch', value: true }
        : { case: 'stringMatch', value: stringMatcher(query) },
  });
}

interface TextMatch {
  readonly exact?: string;
  readonly prefix?: string;
  readonly regex?: string;
}

function stringMatcher({ exact, prefix, regex }: TextMatch): StringMatcher {
  return create(StringMatcherSchema, {
    matchPattern:
      exact !== undefined
        ? { case: 'exact', value: exact }
        : prefix !== undefined
          ? { case: 'prefix', value: prefix }
          : { case: 'safeRegex', value: regexOf(regex ?? '') },
  });
}

function regexOf(regex: string) {
  return create(RegexMatcherSchema, { regex });
}
