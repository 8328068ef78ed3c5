import type { Placement, Subject } from '../scoring/levels.ts';

/** What each subject is assessed against, as results and evidence name it. */
export const standards: Record<Subject, { framework: string; standard: { name: string; version: string; date: string }; notAssessed: string[]; timeLimitMs: number }> = {
  digital: {
    framework: 'National standards for essential digital skills (2019)',
    standard: { name: 'National standards for essential digital skills', version: '2019', date: '2019-04-23' },
    notAssessed: ['Using the learner\'s own device and network', 'Skills that need a real account, such as online banking', 'Typing speed'],
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

/** The framework of a result. The digital standards end at Level 1, and Functional Skills at Level 2: what lies above is an extension, and says so. */
export function frameworkOf(subject: Subject, placement: Placement): string {
  const { framework } = standards[subject];
  const beyond = subject === 'digital' ? placement === 'level2' || placement === 'level3' : placement === 'level3';
  return beyond ? `${framework}, extended to the RQF level descriptors` : framework;
}
