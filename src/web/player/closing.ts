import type { ResultContent } from '../../records/results/body.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

export type Closing =
  | {
      kind: 'result';
      subject: Subject;
      content: ResultContent;
      address: string;
      /** The sitting was left, and closed after 48 hours. */
      unfinished: boolean;
      /** The sitting has fewer answers than a full one. */
      few: boolean;
      /** A reviewer has set another level than the engines. */
      byPerson: boolean;
      assessedMs: number;
    }
  | { kind: 'removed' | 'erased' | 'void'; subject: Subject };
