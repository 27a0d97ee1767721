/**
 * How much is read from clients before the loop has taken it. Who sends much, or sends while others have sent more than
 * the loop can take, is not read until the loop has come to what it sent last: HTTP/2 lets its client wait.
 */

/** Read of one client without a pause. */
const callBytes = 1024 * 1024;

/** From one mark among all that is read to the next one. */
const markBytes = 4 * 1024 * 1024;

/** With so many marks that the loop has not come to, each message is followed by a pause. */
const maxMarks = 4;

export interface ReadLimit {
  /** What one client has sent is on its way to the loop, a message read to its end. */
  read(client: { sinceBytes: number }, sizeBytes: number): 'on' | 'pause';
  /** The loop has come to a mark. */
  passed(): void;
}

export function createReadLimit({ mark }: { readonly mark: () => void }): ReadLimit {
  let sinceBytes = 0;
  let marks = 0;
  return {
    read(client, sizeBytes) {
      sinceBytes += sizeBytes;
      client.sinceBytes += sizeBytes;
      if (sinceBytes >= markBytes) {
        sinceBytes = 0;
        marks += 1;
        mark();
      }
      if (client.sinceBytes < callBytes && marks < maxMarks) return 'on';
      client.sinceBytes = 0;
      return 'pause';
    },
    passed() {
      marks -= 1;
    },
  };
}
