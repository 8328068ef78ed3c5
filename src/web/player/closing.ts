import type { ResultContent } from '../../records/results/body.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

/** What a page tells of a sitting that is over. */
export type Closing =
  | {
      kind: 'result';
      subject: Subject;
      content: ResultContent;
      address: string;
      /** It was given up, and closed after 48 hours. */
      unfinished: boolean;
      /** Fewer questions were answered than a full sitting has. */
      few: boolean;
      /** A person has set another level than the engines found. */
      byPerson: boolean;
      assessedMs: number;
    }
  | { kind: 'removed' | 'erased' | 'void'; subject: Subject };
