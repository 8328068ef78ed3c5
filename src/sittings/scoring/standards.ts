import type { Subject } from '../../engine/scoring/levels.ts';

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

/** RQF levels above the standards. Digital skills end at Level 1, Functional Skills at Level 2. */
const extensions: Record<Subject, readonly string[]> = {
  digital: ['Level 2', 'Level 3'],
  english: ['Level 3'],
  maths: ['Level 3'],
};

export const isExtension = (subject: Subject, rqfLevel: string | null): boolean =>
  rqfLevel !== null && extensions[subject].includes(rqfLevel);

/** Returns the name of the standard for a result, and says in it if the level is an extension of the standard. */
export function frameworkOf(subject: Subject, rqfLevel: string | null): string {
  const { framework } = standards[subject];
  return isExtension(subject, rqfLevel)
    ? `${framework}, with an extension to ${extensions[subject].join(' and ')} that is not part of the standards`
    : framework;
}
