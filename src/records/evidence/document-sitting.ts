import type { Block, Rung, Scale } from './content.ts';
import { belowEntry } from '../../engine/scoring/levels.ts';
import { levelsApart, shortLevel } from './content.ts';
import type { EvidenceInput, EvidenceSitting } from './input.ts';
import { date, dateTime, decimal, plainText, suspendedWords } from './wording.ts';

/** The ladder on the ability scale. */
export function scaleOf(
  sitting: EvidenceSitting,
  placed: string,
): {
  scale: Scale;
  rungs: Rung[];
  caption: string;
  description: string;
} {
  const cuts = sitting.cuts.map(({ level, theta }) => ({ level: plainText(level), theta }));
  const rungs = [
    { level: belowEntry, from: null as number | null },
    ...cuts.map(({ level, theta }) => ({ level, from: theta as number | null })),
  ].map(({ level, from }, i): Rung => ({
    label: level,
    short: shortLevel(level),
    from,
    to: cuts[i]?.theta ?? null,
    placed: level === placed,
  }));
  const [low, high] = sitting.ci;
  const deciding = plainText(sitting.deciding_rule.level);
  return {
    rungs,
    scale: { estimate: sitting.theta, low, high, cuts, deciding },
    caption:
      `Ability estimate ${decimal(sitting.theta)} with its 95% confidence interval, ${decimal(low)} to ${decimal(high)}. ` +
      `Each rung begins at its level’s threshold; the dashed line is the ${deciding} threshold, ${decimal(sitting.deciding_rule.theta)}, which decided.`,
    description:
      `Ladder of levels on the ability scale. ${cuts.map(({ level, theta }) => `${level} begins at ${decimal(theta)}`).join('; ')}. ` +
      `The estimate is ${decimal(sitting.theta)}, its 95% confidence interval ${decimal(low)} to ${decimal(high)}. The result is at ${placed}.`,
  };
}

/** Everything that only a sitting of our own can say. */
export function sittingSections(input: EvidenceInput, sitting: EvidenceSitting): Block[] {
  return [
    ...decision(input, sitting),
    ...engines(input, sitting),
    ...conditions(sitting),
    ...scope(sitting),
    ...answers(sitting),
    ...provenance(sitting),
  ];
}

function decision(input: EvidenceInput, sitting: EvidenceSitting): Block[] {
  const { level, theta, met, inside_interval: inside } = sitting.deciding_rule;
  const share = `${Math.round(sitting.threshold_share * 100)}%`;
  const name = plainText(level);
  // Engines this far apart are reconciled to a level between them, which can lie on the other side of the threshold.
  const midway = (levelsApart(sitting.irt_level, sitting.rule_level) ?? 0) >= 2;
  return [
    { kind: 'heading', text: 'The rule that decided' },
    {
      kind: 'paragraph',
      text:
        `The ${name} rule: a learner meets ${name} from the ability at which ${share} of the bank’s ${name} questions are expected to be ` +
        `answered correctly. On the scale of this bank that threshold is ${decimal(theta)}. The estimate is ${decimal(sitting.theta)} ` +
        `(standard error ${decimal(sitting.se)}), so ${midway ? 'by the IRT engine alone ' : ''}${name} is ${met ? 'met' : 'not met'}. The 95% confidence interval, ` +
        `${decimal(sitting.ci[0])} to ${decimal(sitting.ci[1])}, ${
          inside
            ? `holds the threshold: ${isSetByPerson(input) ? 'what the engines found' : 'the result'} is borderline${input.is_borderline === false ? `; ${flagGone(input)}` : ''}.`
            : `lies entirely ${met ? 'above' : 'below'} the threshold: the decision is clear.`
        }${
          midway
            ? ` The two engines lie two or more levels apart, so ${isSetByPerson(input) ? 'the sitting ended' : 'the result is placed'} midway between them, at ${plainText(sitting.reconciled_level)}.`
            : ''
        }`,
    },
    ...(sitting.extreme === null
      ? []
      : [
          {
            kind: 'paragraph',
            text:
              sitting.extreme === 'all_right'
                ? 'Every answer was right: the questions could not find the upper limit of the learner’s skill, and the estimate rests partly on the population.'
                : 'No answer was right: the questions could not find the lower limit of the learner’s skill, and the estimate rests partly on the population.',
          } satisfies Block,
        ]),
  ];
}

/** Editions of version 1 took what a person decided for an amendment, and keep their words. */
const isSetByPerson = ({ version, replaces }: EvidenceInput): boolean => version === 2 && replaces !== undefined;

/** How a flag that the engines set came to be no more. */
const flagGone = (input: EvidenceInput): string =>
  isSetByPerson(input)
    ? 'the flag ended when a person at the provider set the level'
    : 'an amendment has removed the flag';

/** The engines' distance is that of the sitting; the flag may have been amended since. */
function reconciledWords(input: EvidenceInput, sitting: EvidenceSitting): string {
  const apart = levelsApart(sitting.irt_level, sitting.rule_level);
  if (apart === null) return 'Only one engine could judge: its level stands';
  if (apart >= 1)
    return `A full level or more apart: ${input.needs_review === true ? 'flagged for review' : flagGone(input)}`;
  return `Less than a full level apart${input.needs_review === true ? '; an amendment has flagged it for review' : ''}`;
}

function engines(input: EvidenceInput, sitting: EvidenceSitting): Block[] {
  const [low, high] = sitting.ci;
  return [
    { kind: 'heading', text: 'Two engines, side by side' },
    {
      kind: 'table',
      caption: 'Levels found by the two engines, and the level they were reconciled to',
      columns: [
        { label: 'Engine', width: 3, align: 'left' },
        { label: 'How it works', width: 7, align: 'left' },
        { label: 'Level', width: 3, align: 'left' },
      ],
      rows: [
        [
          'IRT engine',
          `Item response theory: ability ${decimal(sitting.theta)}, standard error ${decimal(sitting.se)}, 95% interval ${decimal(low)} to ${decimal(high)}`,
          plainText(sitting.irt_level),
        ],
        [
          'Rule engine',
          'Number right in the questions around each level, against the number needed',
          plainText(sitting.rule_level),
        ],
        ['Reconciled', reconciledWords(input, sitting), plainText(sitting.reconciled_level)],
      ],
    },
    {
      kind: 'table',
      caption: 'The rule engine, level by level: the questions given at the level and one level either side',
      columns: [
        { label: 'Level', width: 4, align: 'left' },
        { label: 'Right', width: 2, align: 'right' },
        { label: 'Given', width: 2, align: 'right' },
        { label: 'Needed', width: 2, align: 'right' },
        { label: 'Outcome', width: 4, align: 'left' },
      ],
      rows: sitting.levels.map(({ level, right, given, needed }) => [
        plainText(level),
        String(right),
        String(given),
        needed === null ? 'None' : decimal(needed),
        needed === null ? 'Too few questions to judge' : right >= needed ? 'Passed' : 'Not passed',
      ]),
    },
    {
      kind: 'paragraph',
      text:
        `“Needed” is the number that a learner exactly at the level’s threshold is expected to get right in the same questions, the ` +
        `${Math.round(sitting.threshold_share * 100)}% standard. Both engines use one standard.`,
    },
  ];
}

/** What a reader should know of how the answers came about, beside the flags of the result. */
export function signFlags(sitting: EvidenceSitting | undefined): { label: string; text: string }[] {
  if (sitting === undefined) return [];
  const { few_answers: few, fast, change } = sitting.signs ?? {};
  return [
    ...(few === undefined
      ? []
      : [
          {
            label: 'Few answers',
            text: `${few.answered} questions were answered; a full sitting has at least ${few.min}. The level is less sure for it.`,
          },
        ]),
    ...(sitting.ended === 'time_limit'
      ? [
          {
            label: 'Time limit',
            text: 'The sitting ended because its time was over, not because the level was sure enough.',
          },
        ]
      : []),
    ...(fast === undefined
      ? []
      : [
          {
            label: 'Very fast answers',
            text:
              `${fast.answers} of ${fast.of} answers came sooner than their question can be read. ` +
              'Find out how the sitting was taken before the result is relied on.',
          },
        ]),
    ...(change === undefined
      ? []
      : [
          {
            label: 'Change in the middle',
            text:
              `From some question on the answers were much ${change} than those before, as when somebody ` +
              `${change === 'better' ? 'is helped' : 'gives up'}. About 3 in 100 sittings show this by chance. ` +
              'Find out how the sitting was taken before the result is relied on.',
          },
        ]),
  ];
}

const endedWords: Record<NonNullable<EvidenceSitting['ended']>, string> = {
  precise: 'Further questions would hardly have changed the level',
  max_items: 'The most questions of a sitting were asked',
  no_items: 'No question was left for this learner',
  time_limit: 'The time was over',
  idle: 'Nobody came back to it for 48 hours',
};

const purposeWords: Record<NonNullable<EvidenceSitting['purpose']>, string> = {
  initial: 'Initial assessment',
  progress: 'Progress',
  end: 'End of the course',
};

/** `1:05`, minutes and seconds. */
const clock = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

function pauseWords({ count, seconds }: { count: number; seconds: number }): string {
  if (count === 0) return 'None';
  const minutes = Math.round(seconds / 60);
  const long = minutes === 0 ? 'less than a minute' : minutes === 1 ? '1 minute' : `${minutes} minutes`;
  return count === 1 ? `1, of ${long}` : `${count}, of ${long} together`;
}

function conditions(sitting: EvidenceSitting): Block[] {
  const { ended, pauses, suspended } = sitting;
  return [
    { kind: 'heading', text: 'The sitting' },
    {
      kind: 'facts',
      facts: [
        { label: 'Started', value: dateTime(sitting.started_at) },
        { label: 'Finished', value: dateTime(sitting.finished_at) },
        { label: 'Working time', value: `${sitting.minutes} ${sitting.minutes === 1 ? 'minute' : 'minutes'}` },
        ...(pauses === undefined ? [] : [{ label: 'Pauses', value: pauseWords(pauses) }]),
        ...(suspended === undefined ? [] : [{ label: 'Service suspended', value: suspendedWords(suspended) }]),
        ...(ended === undefined ? [] : [{ label: 'Why it ended', value: endedWords[ended] }]),
        ...(sitting.purpose === undefined ? [] : [{ label: 'Purpose', value: purposeWords[sitting.purpose] }]),
        ...(sitting.retake_reason === undefined
          ? []
          : [{ label: 'Why assessed again', value: plainText(sitting.retake_reason) }]),
        { label: 'Supervision', value: plainText(sitting.supervision) },
        ...(sitting.supervisor === undefined ? [] : [{ label: 'Supervisor', value: plainText(sitting.supervisor) }]),
        ...(sitting.released === undefined
          ? []
          : [
              {
                label: 'Start code',
                value: `Released by ${plainText(sitting.released.by)}, who was signed in to the service, ${dateTime(sitting.released.at)}`,
              },
            ]),
        {
          label: 'Standard',
          value: `${plainText(sitting.standard.name)}, version ${plainText(sitting.standard.version)}, ${date(sitting.standard.date)}`,
        },
        {
          label: 'Adjustments',
          value: sitting.adjustments.length === 0 ? 'None' : sitting.adjustments.map(plainText).join('; '),
        },
      ],
    },
  ];
}

function scope(sitting: EvidenceSitting): Block[] {
  return [
    { kind: 'heading', text: 'What was not assessed' },
    sitting.not_assessed.length === 0
      ? { kind: 'paragraph', text: 'Nothing in the standard’s content for this subject was left out by design.' }
      : { kind: 'list', items: sitting.not_assessed.map(plainText) },
  ];
}

function answers(sitting: EvidenceSitting): Block[] {
  const { items, not_reached: notReached = 0 } = sitting;
  const right = items.filter((item) => item.right).length;
  const skipped = items.filter((item) => item.skipped).length;
  const wrong = items.length - right - skipped;
  const counts =
    skipped === 0
      ? `${right} right and ${wrong} wrong, in the order given. `
      : `${right} right, ${wrong} wrong and ${skipped} skipped, in the order given. A skipped question counts as wrong. `;
  const cutOff = notReached === 0 ? '' : 'One more was on the screen when the sitting ended, and does not count. ';
  const timed = items.some(({ seconds }) => seconds !== undefined);
  return [
    { kind: 'heading', text: 'Questions and answers' },
    {
      kind: 'paragraph',
      text:
        `${items.length} questions were scored, ${counts}${cutOff}` +
        'Questions adapt to the learner, which draws everyone’s share of right answers towards 50% to 60% whatever their level: the share is not the score.' +
        (timed ? ' Beside each stands its working time in minutes and seconds, without pauses.' : ''),
    },
    {
      kind: 'answers',
      answers: items.map(({ id, right: isRight, skipped: isSkipped, seconds }) => ({
        id: plainText(id),
        outcome: isRight ? 'right' : isSkipped ? 'skipped' : 'wrong',
        ...(seconds === undefined ? {} : { time: clock(seconds) }),
      })),
    },
  ];
}

function provenance(sitting: EvidenceSitting): Block[] {
  return [
    { kind: 'heading', text: 'Versions' },
    {
      kind: 'facts',
      facts: sitting.versions.map(({ name, version }) => ({ label: plainText(name), value: plainText(version) })),
    },
    { kind: 'heading', text: 'Learner’s declaration' },
    {
      kind: 'paragraph',
      text:
        sitting.declaration === null
          ? 'No declaration was recorded.'
          : `“${plainText(sitting.declaration.text)}” Declared ${dateTime(sitting.declaration.at)}.`,
    },
  ];
}
