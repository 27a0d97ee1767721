/** An address as a number, so that it can be compared, counted and masked. */
export interface Ip {
  readonly family: 4 | 6;
  /** 32 or 128 bits. */
  readonly value: bigint;
}

/**
 * Reads an IPv4 address (dotted, four numbers, no leading zeros) or an IPv6 address (RFC 4291 section 2.2, with or
 * without a dotted tail). Undefined for all else: zones (`fe80::1%eth0`), brackets, prefixes, blanks.
 */
export function parseIp(text: string): Ip | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** Canonical text: dotted, or RFC 5952 (lower case, longest run of zeros shortened, mapped IPv4 in dotted form). */
export function formatIp(ip: Ip): string {
  return ip.family === 4 ? formatIpv4(ip.value) : formatIpv6(ip.value);
}

/** The canonical text of an address, or undefined when the text is none. Equal addresses give equal texts. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** 0.0.0.0 or `::`: every address of the machine when listened on, no address at all when connected to. */
export function isUnspecified(ip: Ip): boolean {
  return ip.value === 0n;
}

/** 224.0.0.0/4, ff00::/8, and 255.255.255.255: addresses that no TCP connection can be made to. */
export function isGroupAddress(ip: Ip): boolean {
  return ip.family === 4 ? ip.value >> 28n === 14n || ip.value === 0xffff_ffffn : ip.value >> 120n === 0xffn;
}

/** `::ffff:0:0/96`: an IPv4 address in the clothes of IPv6. */
export function isMappedIpv4(ip: Ip): boolean {
  return ip.family === 6 && ip.value >> 32n === 0xffffn;
}

const decimalOctet = /^(0|[1-9][0-9]{0,2})$/;

function parseIpv4(text: string): Ip | undefined {
  const octets = text.split('.');
  if (octets.length !== 4) return undefined;
  let value = 0n;
  for (const octet of octets) {
    if (!decimalOctet.test(octet) || Number(octet) > 255) return undefined;
    value = (value << 8n) | BigInt(octet);
  }
  return { family: 4, value };
}

function parseIpv6(text: string): Ip | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = '', tail] = halves;
  const left = parseGroups(head, tail === undefined);
  const right = tail === undefined ? [] : parseGroups(tail, true);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  // `::` stands for at least one group.
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  let value = 0n;
  for (const group of [...left, ...new Array<number>(missing).fill(0), ...right])
    value = (value << 16n) | BigInt(group);
  return { family: 6, value };
}

/** The 16-bit groups of one side of `::`; only the end of an address may be dotted. */
function parseGroups(text: string, isEnd: boolean): readonly number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [i, part] of parts.entries()) {
    if (isEnd && i === parts.length - 1 && part.includes('.')) {
      const dotted = parseIpv4(part);
      if (dotted === undefined) return undefined;
      groups.push(Number(dotted.value >> 16n), Number(dotted.value & 0xffffn));
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return groups;
}

function formatIpv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
}

function formatIpv6(value: bigint): string {
  // RFC 5952 section 5.
  if (value >> 32n === 0xffffn) return `::ffff:${formatIpv4(value & 0xffff_ffffn)}`;
  const groups: number[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(Number((value >> shift) & 0xffffn));
  const run = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (run === undefined) return hex(groups);
  return `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`;
}

/** RFC 5952 section 4.2: the longest run of two or more zero groups, the first one among equals. */
function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } | undefined {
  let best: { start: number; length: number } | undefined;
  let length = 0;
  for (const [i, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length >= 2 && length > (best?.length ?? 1)) best = { start: i - length + 1, length };
  }
  return best;
}
