import type { Block, Rung, Scale } from './content.ts';
import { belowEntry } from '../../engine/scoring/levels.ts';
import { columns, facts, heading, levelsApart, paragraph, shortLevel } from './content.ts';
import type { EvidenceInput, EvidenceItem, EvidenceSitting } from './input.ts';
import { date, dateTime, decimal, plainText, suspendedWords } from './wording.ts';

export function scaleOf(
  sitting: EvidenceSitting,
  placed: string,
): { scale: Scale; rungs: Rung[]; caption: string; description: string } {
  const cuts = sitting.cuts.map(({ level, theta }) => ({ level: plainText(level), theta }));
  const rungs = [{ level: belowEntry, theta: null }, ...cuts].map(({ level, theta }, i): Rung => ({
    label: level,
    short: shortLevel(level),
    from: theta,
    to: cuts[i]?.theta ?? null,
    placed: level === placed,
  }));
  const { theta } = sitting;
  const [low, high] = sitting.ci;
  const deciding = plainText(sitting.deciding_rule.level);
  return {
    rungs,
    scale: { estimate: theta, low, high, cuts, deciding },
    caption:
      `Ability estimate ${decimal(theta)} with its 95% confidence interval, ${decimal(low)} to ${decimal(high)}. ` +
      `Each rung begins at its level’s threshold; the dashed line is the ${deciding} threshold, ${decimal(sitting.deciding_rule.theta)}, which decided.`,
    description:
      `Ladder of levels on the ability scale. ${cuts.map((cut) => `${cut.level} begins at ${decimal(cut.theta)}`).join('; ')}. ` +
      `The estimate is ${decimal(theta)}, its 95% confidence interval ${decimal(low)} to ${decimal(high)}. The result is at ${placed}.`,
  };
}

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
  // If the engines differ by 2 or more levels, the reconciled level is between their levels. The estimate may then be
  // on the other side of the threshold.
  const midway = (levelsApart(sitting.irt_level, sitting.rule_level) ?? 0) >= 2;
  const isByPerson = isSetByPerson(input);
  const [ofFlag, ofSitting] = isByPerson
    ? ['what the engines found', 'the sitting ended']
    : ['the result', 'the result is placed'];
  const verdict = inside
    ? `holds the threshold: ${ofFlag} is borderline${input.is_borderline === false ? `; ${flagGone(input)}` : ''}.`
    : `lies entirely ${met ? 'above' : 'below'} the threshold: the decision is clear.`;
  const reconciled = midway
    ? ` The two engines lie two or more levels apart, so ${ofSitting} midway between them, at ${plainText(sitting.reconciled_level)}.`
    : '';
  const limit = { all_right: ['Every answer was right', 'upper'], all_wrong: ['No answer was right', 'lower'] };
  const [extreme, side] = sitting.extreme === null ? [] : limit[sitting.extreme];
  return [
    heading('The rule that decided'),
    paragraph(
      `The ${name} rule: a learner meets ${name} from the ability at which ${share} of the bank’s ${name} questions are expected to be ` +
        `answered correctly. On the scale of this bank that threshold is ${decimal(theta)}. The estimate is ${decimal(sitting.theta)} ` +
        `(standard error ${decimal(sitting.se)}), so ${midway ? 'by the IRT engine alone ' : ''}${name} is ${met ? 'met' : 'not met'}. The 95% confidence interval, ` +
        `${decimal(sitting.ci[0])} to ${decimal(sitting.ci[1])}, ${verdict}${reconciled}`,
    ),
    ...(extreme === undefined
      ? []
      : [
          paragraph(
            `${extreme}: the questions could not find the ${side} limit of the learner’s skill, and the estimate rests partly on the population.`,
          ),
        ]),
  ];
}

/**
 * Whether a person set the placement. Inputs of version 1 keep the word "amendment", so that stored editions still
 * render to identical bytes.
 */
const isSetByPerson = ({ version, replaces }: EvidenceInput): boolean => version === 2 && replaces !== undefined;

const flagGone = (input: EvidenceInput): string =>
  isSetByPerson(input)
    ? 'the flag ended when a person at the provider set the level'
    : 'an amendment has removed the flag';

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
    heading('Two engines, side by side'),
    {
      kind: 'table',
      caption: 'Levels found by the two engines, and the level they were reconciled to',
      columns: columns({ Engine: 3, 'How it works': 7, Level: 3 }),
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
      columns: columns({ Level: 4, Right: 2, Given: 2, Needed: 2, Outcome: 4 }).map((column) =>
        column.width === 2 ? { ...column, align: 'right' } : column,
      ),
      rows: sitting.levels.map(({ level, right, given, needed }) => [
        plainText(level),
        String(right),
        String(given),
        needed === null ? 'None' : decimal(needed),
        needed === null ? 'Too few questions to judge' : right >= needed ? 'Passed' : 'Not passed',
      ]),
    },
    paragraph(
      `“Needed” is the number that a learner exactly at the level’s threshold is expected to get right in the same questions, the ` +
        `${Math.round(sitting.threshold_share * 100)}% standard. Both engines use one standard.`,
    ),
  ];
}

/** Warnings about how the learner answered. The page shows these warnings with the result's flags. */
export function engagementFlags(sitting: EvidenceSitting | undefined): { label: string; text: string }[] {
  if (sitting === undefined) return [];
  const { few_answers: few, fast, change, repeated } = sitting.signs ?? {};
  const findOut = 'Find out how the sitting was taken before the result is relied on.';
  const flags: [label: string, text: string | false | undefined][] = [
    [
      'Few answers',
      few &&
        `${few.answered} questions were answered; a full sitting has at least ${few.min}. The level is less sure for it.`,
    ],
    [
      'Time limit',
      sitting.ended === 'time_limit' &&
        'The sitting ended because its time was over, not because the level was sure enough.',
    ],
    [
      'Very fast answers',
      fast && `${fast.answers} of ${fast.of} answers came sooner than their question can be read. ${findOut}`,
    ],
    [
      'Change in the middle',
      change &&
        `From some question on the answers were much ${change} than those before, as when somebody ` +
          `${change === 'better' ? 'is helped' : 'gives up'}. About 3 in 100 sittings show this by chance. ${findOut}`,
    ],
    [
      'Repeated questions',
      repeated &&
        `${repeated.questions} of ${repeated.of} questions were also in an earlier sitting of this learner. ` +
          'If the learner remembered them, the level is too high.',
    ],
  ];
  return flags.flatMap(([label, text]) => (text ? { label, text } : []));
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

const minutesWords = (minutes: number) => (minutes === 1 ? '1 minute' : `${minutes} minutes`);

function pauseWords({ count, seconds }: { count: number; seconds: number }): string {
  if (count === 0) return 'None';
  const minutes = Math.round(seconds / 60);
  const long = minutes === 0 ? 'less than a minute' : minutesWords(minutes);
  return count === 1 ? `1, of ${long}` : `${count}, of ${long} together`;
}

function conditions(sitting: EvidenceSitting): Block[] {
  const { ended, pauses, suspended, purpose, retake_reason, supervisor, released, standard, adjustments } = sitting;
  return [
    heading('The sitting'),
    facts(
      ['Started', dateTime(sitting.started_at)],
      ['Finished', dateTime(sitting.finished_at)],
      ['Working time', minutesWords(sitting.minutes)],
      ['Pauses', pauses && pauseWords(pauses)],
      ['Service suspended', suspended && suspendedWords(suspended)],
      ['Why it ended', ended && endedWords[ended]],
      ['Purpose', purpose && purposeWords[purpose]],
      ['Why assessed again', retake_reason && plainText(retake_reason)],
      ['Supervision', plainText(sitting.supervision)],
      ['Supervisor', supervisor && plainText(supervisor)],
      [
        'Start code',
        released && `Released by ${plainText(released.by)}, who was signed in to the service, ${dateTime(released.at)}`,
      ],
      ['Standard', `${plainText(standard.name)}, version ${plainText(standard.version)}, ${date(standard.date)}`],
      ['Adjustments', adjustments.length === 0 ? 'None' : adjustments.map(plainText).join('; ')],
    ),
  ];
}

function scope(sitting: EvidenceSitting): Block[] {
  return [
    heading('What was not assessed'),
    sitting.not_assessed.length === 0
      ? paragraph('Nothing in the standard’s content for this subject was left out by design.')
      : { kind: 'list', items: sitting.not_assessed.map(plainText) },
  ];
}

const outcomeWord = ({ right, skipped }: EvidenceItem): string => (right ? 'right' : skipped ? 'skipped' : 'wrong');

/** What each question asked. Older editions list only the IDs. */
function answerList(items: readonly EvidenceItem[], timed: boolean): Block {
  if (items.every(({ asked }) => asked === undefined))
    return {
      kind: 'answers',
      answers: items.map((item) => ({
        id: plainText(item.id),
        outcome: outcomeWord(item),
        ...(item.seconds === undefined ? {} : { time: clock(item.seconds) }),
      })),
    };
  const all = columns({ No: 1.6, Area: 4.5, Skill: 8, Format: 4, Question: 5, Answer: 2.8, Time: 2.2 });
  return {
    kind: 'table',
    small: true,
    caption: 'What each question asked, and the answer',
    columns: timed ? all : all.slice(0, -1),
    rows: items.map((item, i) => [
      String(i + 1),
      ...[item.asked?.area ?? '', item.asked?.skill ?? '', item.asked?.format ?? '', item.id].map(plainText),
      outcomeWord(item),
      ...(timed ? [item.seconds === undefined ? '' : clock(item.seconds)] : []),
    ]),
  };
}

function answers(sitting: EvidenceSitting): Block[] {
  const { items, not_reached: notReached = 0, pilots = 0 } = sitting;
  const right = items.filter((item) => item.right).length;
  const skipped = items.filter((item) => item.skipped).length;
  const wrong = items.length - right - skipped;
  const counts =
    skipped === 0
      ? `${right} right and ${wrong} wrong, in the order given. `
      : `${right} right, ${wrong} wrong and ${skipped} skipped, in the order given. A skipped question counts as wrong. `;
  const cutOff = notReached === 0 ? '' : 'One more was on the screen when the sitting ended, and does not count. ';
  const onTrial =
    pilots === 0
      ? ''
      : `The learner also got ${pilots === 1 ? '1 new question' : `${pilots} new questions`} on trial. The result does not use the answers to ${pilots === 1 ? 'it' : 'them'}. `;
  const timed = items.some(({ seconds }) => seconds !== undefined);
  const isListed = items.some(({ asked }) => asked !== undefined);
  return [
    heading('Questions and answers'),
    paragraph(
      `${items.length} questions were scored, ${counts}${cutOff}${onTrial}` +
        'Questions adapt to the learner, which draws everyone’s share of right answers towards 50% to 60% whatever their level: the share is not the score.' +
        (!timed
          ? ''
          : isListed
            ? ' The time is working time in minutes and seconds, without pauses.'
            : ' Beside each stands its working time in minutes and seconds, without pauses.'),
    ),
    answerList(items, timed),
  ];
}

function provenance({ versions, declaration }: EvidenceSitting): Block[] {
  return [
    heading('Versions'),
    facts(...versions.map(({ name, version }) => [plainText(name), plainText(version)] as [string, string])),
    heading('Learner’s declaration'),
    paragraph(
      declaration === null
        ? 'No declaration was recorded.'
        : `“${plainText(declaration.text)}” Declared ${dateTime(declaration.at)}.`,
    ),
  ];
}
