/** Kinds of work that hold the event loop at a stretch; a large adoption is a first build, or an edit of a whole fleet. */
export type SliceWork =
  | 'request'
  | 'answer'
  | 'streams'
  | 'progress'
  | 'settling'
  | 'adoption'
  | 'large adoption'
  | 'conditions';

/** Told where stretches of work begin and end; they do not stand in one another. For benches. */
export interface SliceMeter {
  begin(): void;
  end(work: SliceWork): void;
}

export const unmeasured: SliceMeter = { begin: () => undefined, end: () => undefined };
