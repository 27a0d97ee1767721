import { err, ok, type Result } from './result.ts';

/** One block of PEM text (RFC 7468): what stands between its BEGIN and END lines. */
export interface PemBlock {
  /** `CERTIFICATE`, `PRIVATE KEY`, … */
  readonly label: string;
  /** The whole block with its lines, as it was. */
  readonly text: string;
}

/** OpenSSL and BoringSSL see these only on lines of their own. */
const marker = /^-----(BEGIN|END) ([A-Z0-9 ]*)-----[ \t\r]*$/gm;

/**
 * The blocks of a text, in order. Text outside of blocks (comments, dumps of `openssl x509 -text`) is allowed; an open
 * block, a wrong END line or a body that is not base64 is a fault. Its message never holds any of the text itself.
 */
export function readPem(text: string): Result<readonly PemBlock[], string> {
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; readonly start: number; readonly bodyStart: number } | undefined;
  for (const match of text.matchAll(marker)) {
    const [line, side, label = ''] = match;
    const number = blocks.length + 1;
    if (side === 'BEGIN') {
      if (open !== undefined) return err(`block ${number} has no END line`);
      open = { label, start: match.index, bodyStart: match.index + line.length };
    } else {
      if (open?.label !== label) return err(`block ${number} has an END line that does not fit its BEGIN line`);
      if (!isBody(text.slice(open.bodyStart, match.index)))
        return err(`block ${number} is not base64 between its lines`);
      blocks.push({ label, text: `${text.slice(open.start, match.index + line.length)}\n` });
      open = undefined;
    }
  }
  if (open !== undefined) return err(`block ${blocks.length + 1} has no END line`);
  const outside = blocks.reduce((rest, block) => rest.replace(block.text.trimEnd(), ''), text);
  if (outside.includes('-----')) return err('a BEGIN or END line is damaged');
  return ok(blocks);
}

/** Base64 in lines; before it, headers of the old form (RFC 1421 section 4.4) end with an empty line. */
function isBody(body: string): boolean {
  const content = body.replace(/^\s*(?:[A-Za-z-]+: [^\n]*\n)+\s*\n/, '').replaceAll(/\s/g, '');
  return content.length > 0 && content.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(content);
}
