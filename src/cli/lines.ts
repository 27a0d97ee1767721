/**
 * Splits a stream of UTF-8 bytes into its lines, without empty ones. A last line that was cut off is not given: what
 * comes in lines is whole only with its line break.
 */
export async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield line;
  }
}
