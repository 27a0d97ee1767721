import { isGroupAddress, isMappedIpv4, isUnspecified, parseIp } from '../lib/ip.ts';
import { inspectRegex } from './regex.ts';

/** Says what is wrong with a text ("must …"), or undefined when nothing is. */
export type FormatCheck = (text: string) => string | undefined;

/**
 * The value of a field in a message: short, on one line, and never something that may be a key. Fields of
 * `writeOnly` schemas are not quoted at all.
 */
export function quote(text: string): string {
  if (text.includes('-----')) return '(text with PEM markers)';
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i;
const qualifiedName = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** RFC 9110 section 5.6.2. */
const token = /^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const controlCharacter = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const headerBreaker = /[\u0000-\u0008\u000a-\u001f\u007f]/;

const name: FormatCheck = (text) =>
  label.test(text)
    ? undefined
    : `must be a name of at most 63 lower-case letters, digits and dashes that begins and ends with a letter or digit, not ${quote(text)}`;

const scopePattern: FormatCheck = (text) => (text === '*' ? undefined : name(text));

const ref: FormatCheck = (text) => {
  const parts = text.split('/');
  return parts.length <= 2 && parts.every((part) => label.test(part))
    ? undefined
    : `must be the name of an object, or scope/name, not ${quote(text)}`;
};

/** What is wrong with a DNS name as such, without a wildcard. */
function dnsNameFault(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII
  if (/[^\u0000-\u007f]/.test(text)) return 'must be written in its ASCII form (IDNA, `xn--…`)';
  if (text.endsWith('.')) return 'must not end with a dot';
  if (/:[0-9]+$/.test(text)) return 'must not have a port';
  if (text.length > 253) return 'must have at most 253 characters';
  const labels = text.split('.');
  if (!labels.every((part) => dnsLabel.test(part))) return 'must be a DNS name';
  // A numeric last label is an IPv4 address gone wrong: no top-level domain is a number (RFC 3696 section 2).
  if (/^[0-9]+$/.test(labels.at(-1) ?? '')) return 'must be a DNS name or a valid IPv4 address';
  return undefined;
}

const withValue = (fault: string | undefined, text: string) =>
  fault === undefined ? undefined : `${fault}, not ${quote(text)}`;

const dnsName: FormatCheck = (text) =>
  parseIp(text) === undefined ? withValue(dnsNameFault(text), text) : `must be a DNS name, not the address ${text}`;

const hostname: FormatCheck = (text) => (parseIp(text)?.family === 4 ? undefined : withValue(dnsNameFault(text), text));

const host: FormatCheck = (text) => {
  if (text === '*') return 'must name a host; to serve all hosts leave the list out';
  if (!text.includes('*')) return hostname(text);
  if (!text.startsWith('*.') || text.slice(1).includes('*')) {
    return `may have a \`*\` only as its whole first label, as in *.shop.example, not ${quote(text)}`;
  }
  return withValue(dnsNameFault(text.slice(2)), text);
};

/** An address that a TCP socket can be bound or connected to. */
const ip: FormatCheck = (text) => {
  const parsed = parseIp(text);
  if (parsed === undefined) {
    if (text.includes('%')) return `must not have a zone, as in ${quote(text)}`;
    if (text.includes('/')) return `must be one address, not the range ${quote(text)}`;
    return `must be an IPv4 or IPv6 address, not ${quote(text)}`;
  }
  if (isUnspecified(parsed)) return `must be one address, and ${text} stands for all; leave the list out to use all`;
  if (isGroupAddress(parsed)) return `must be the address of one machine, not the group address ${text}`;
  if (isMappedIpv4(parsed)) return `must be written as the IPv4 address it stands for, not ${quote(text)}`;
  return undefined;
};

const memberAddress: FormatCheck = (text) => {
  const parsed = parseIp(text);
  if (parsed !== undefined) {
    return isUnspecified(parsed) ? `must be the address of a server, and ${text} is none` : ip(text);
  }
  if (text.includes(':') || text.includes('/')) return `must be an IP address or a DNS name alone, not ${quote(text)}`;
  return withValue(dnsNameFault(text), text);
};

const plainText: FormatCheck = (text) =>
  controlCharacter.test(text) ? 'must not have control characters such as a line break' : undefined;

const headerName: FormatCheck = (text) => {
  if (text.startsWith(':')) return `must be a header; for ${quote(text)} use \`hosts\`, \`path\` or \`methods\``;
  if (text.length > 256 || !token.test(text)) return `must be the name of a header, not ${quote(text)}`;
  if (text.toLowerCase() === 'host') return 'must not be Host: use `hosts`';
  return undefined;
};

/** What frames a message or belongs to one hop: changed by hand it breaks the connection. */
const framingHeaders = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const editedHeader: FormatCheck = (text) => {
  // Envoy: ":-prefixed or host headers may not be modified".
  if (text.startsWith(':')) return `must be a header; ${quote(text)} is changed by \`rewrite\``;
  if (text.length > 256 || !token.test(text)) return `must be the name of a header, not ${quote(text)}`;
  const lower = text.toLowerCase();
  if (lower === 'host') return 'must not be Host: use `rewrite.host`';
  if (framingHeaders.has(lower)) return `must not be ${text}, which the proxy itself keeps`;
  return undefined;
};

const headerValue: FormatCheck = (text) =>
  headerBreaker.test(text) ? 'must not have control characters such as CR, LF or NUL' : undefined;

const path: FormatCheck = (text) => {
  if (!text.startsWith('/')) return `must begin with \`/\`, not ${quote(text)}`;
  if (/[?#]/.test(text)) return `must be a path without query (\`?\`) and fragment (\`#\`), not ${quote(text)}`;
  return /^[!-~]+$/.test(text) ? undefined : 'must be in its percent-encoded form: blanks as %20, ASCII only';
};

const requestTarget: FormatCheck = (text) => {
  if (!text.startsWith('/')) return `must begin with \`/\`, not ${quote(text)}`;
  if (text.includes('#')) return `must not have a fragment (\`#\`), as in ${quote(text)}`;
  return /^[!-~]+$/.test(text) ? undefined : 'must be in its percent-encoded form: blanks as %20, ASCII only';
};

const regex: FormatCheck = (text) => {
  if (text === '') return 'must not be empty';
  const facts = inspectRegex(text);
  return facts.ok ? undefined : `must be a regular expression of RE2: ${facts.error}`;
};

const statusRange: FormatCheck = (text) => {
  const range = /^([0-9]{3})(?:-([0-9]{3}))?$/.exec(text);
  if (range === null) return `must be a status such as 204 or a range such as 200-299, not ${quote(text)}`;
  const first = Number(range[1]);
  const last = Number(range[2] ?? range[1]);
  if (first < 100 || last > 599) return `must be within 100-599, not ${quote(text)}`;
  return first > last ? `is reversed: ${last}-${first} was probably meant` : undefined;
};

const labelKey: FormatCheck = (text) => {
  const slash = text.indexOf('/');
  const prefix = slash < 0 ? undefined : text.slice(0, slash);
  if (prefix !== undefined && dnsNameFault(prefix) !== undefined) {
    return `must have a DNS name before the \`/\`, not ${quote(text)}`;
  }
  return qualifiedName.test(text.slice(slash + 1))
    ? undefined
    : `must be at most 63 letters, digits, \`-\`, \`_\` and \`.\`, with a letter or digit at both ends, not ${quote(text)}`;
};

const labelValue: FormatCheck = (text) =>
  text === '' || qualifiedName.test(text)
    ? undefined
    : `must be at most 63 letters, digits, \`-\`, \`_\` and \`.\`, with a letter or digit at both ends, not ${quote(text)}`;

/** A name that another system gave: an address, a URL, a path of groups. No blanks at the ends, nothing invisible. */
const subject: FormatCheck = (text) => {
  if (text === '') return 'must not be empty';
  if (text !== text.trim()) return 'must not begin or end with a blank';
  return plainText(text);
};

/** Any text, over several lines too. */
const annotationValue: FormatCheck = (text) => (text.includes('\0') ? 'must not have NUL characters' : undefined);

/** Says nothing of the text itself: it may be a key. */
const pem: FormatCheck = (text) =>
  /-----BEGIN [A-Z0-9 ]+-----/.test(text) ? undefined : 'must be PEM text with its BEGIN and END lines';

/** The formats that schemas name. Durations are checked with their limits in check.ts. */
export const formats: Readonly<Record<string, FormatCheck>> = {
  'fairway-name': name,
  'fairway-scope-pattern': scopePattern,
  'fairway-ref': ref,
  'fairway-dns-name': dnsName,
  'fairway-hostname': hostname,
  'fairway-host': host,
  'fairway-ip': ip,
  'fairway-member-address': memberAddress,
  'fairway-text': plainText,
  'fairway-subject': subject,
  'fairway-header-name': headerName,
  'fairway-edited-header': editedHeader,
  'fairway-header-value': headerValue,
  'fairway-path': path,
  'fairway-request-target': requestTarget,
  'fairway-regex': regex,
  'fairway-status-range': statusRange,
  'fairway-label-key': labelKey,
  'fairway-label-value': labelValue,
  'fairway-annotation-value': annotationValue,
  'fairway-pem': pem,
};
