import type { Subject } from '../scoring/levels.ts';

/** What each subject is assessed against, as results and evidence name it. */
export const standards: Record<
  Subject,
  {
    framework: string;
    standard: { name: string; version: string; date: string };
    notAssessed: string[];
    timeLimitMs: number;
  }
> = {
  digital: {
    framework: 'National standards for essential digital skills (2019)',
    standard: { name: 'National standards for essential digital skills', version: '2019', date: '2019-04-23' },
    notAssessed: [
      "Using the learner's own device and network",
      'Skills that need a real account, such as online banking',
      'Typing speed',
    ],
    timeLimitMs: 60 * 60_000,
  },
  english: {
    framework: 'Functional Skills subject content: English',
    standard: { name: 'Functional Skills subject content: English', version: '2018', date: '2018-02-22' },
    notAssessed: ['Speaking, listening and communicating', 'Extended writing', 'Handwriting'],
    timeLimitMs: 75 * 60_000,
  },
  maths: {
    framework: 'Functional Skills subject content: mathematics',
    standard: { name: 'Functional Skills subject content: mathematics', version: '2018', date: '2018-02-22' },
    notAssessed: ['Drawing and measuring with instruments', 'Working shown on paper'],
    timeLimitMs: 75 * 60_000,
  },
};

/**
 * Which standard a result is placed against. The digital standards end at Level 1, and Functional Skills at Level 2:
 * what lies above is ours, and the framework says so.
 */
export function frameworkOf(subject: Subject, rqfLevel: string | null): string {
  const { framework } = standards[subject];
  if (subject === 'digital') {
    return rqfLevel === 'Level 2' || rqfLevel === 'Level 3'
      ? `${framework}, with an extension to Level 2 and Level 3 that is not part of the standards`
      : framework;
  }
  return rqfLevel === 'Level 3' ? `${framework}, with Level 3 by the RQF Level 3 descriptor` : framework;
}
