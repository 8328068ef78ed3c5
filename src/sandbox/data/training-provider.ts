import { clientGroupTypes } from '../../organisations/groups/types.ts';
import { fastRandom, hashOfNumber, type Random } from '../../platform/crypto/random.ts';
import type { WorkingCalendar } from './calendar.ts';
import { fullName } from './people.ts';
import provider from './training-provider.json' with { type: 'json' };

const { campuses, areas, fundingStreams, courseLevels, yearGroups, weekdays, sessions, trades, places, teams } =
  provider;

export type GroupType = (typeof clientGroupTypes)[number];

export type GroupKey = { type: GroupType; ref: string };
export type PlannedGroup = GroupKey & { name: string; archived: boolean };

export type PlannedTeam = { ref: string; name: string; includes(learnerNumber: number): boolean };

export type Programme = 'adult' | 'apprenticeship' | 'study';

/** Types of groups whose number grows with the number of learners. */
const growing = {
  class: { first: 6, max: 120, perGroup: 16 },
  teaching_group: { first: 3, max: 66, perGroup: 30 },
  registration_group: { first: 3, max: 45, perGroup: 40 },
  caseload: { first: 3, max: 45, perGroup: 40 },
  employer: { first: 6, max: 60, perGroup: 25 },
} as const;

/**
 * How many groups of a type exist when learner k enrols. Learner k joins only these groups, so the total number of
 * learners does not change the memberships.
 */
const countAt = (type: keyof typeof growing, learners: number): number => {
  const { first, max, perGroup } = growing[type];
  return Math.min(max, first + Math.floor(learners / perGroup));
};

const pad = (n: number, width: number): string => String(n).padStart(width, '0');
const courseCount = areas.length * courseLevels.length;
const courseOfClass = (index: number): number => (index * 7) % courseCount;
const areaOfCourse = (index: number): number => index % areas.length;
const campusOfClass = (index: number): number => index % campuses.length;
const courseName = (index: number): string =>
  `${areas[areaOfCourse(index)]!}, ${courseLevels[Math.floor(index / areas.length)]!}`;

const refOf = {
  class: (i: number): string => `CLS-${pad(i + 1, 3)}`,
  teaching_group: (i: number): string => `TG.${pad(i + 1, 3)}`,
  registration_group: (i: number): string => `REG_${pad(i + 1, 2)}`,
  caseload: (i: number): string => `CASELOAD:${pad(i + 1, 2)}`,
  employer: (i: number): string => `EMP/${pad(i + 1, 4)}`,
  course: (i: number): string => `CRS/${areaOfCourse(i) + 1}.${Math.floor(i / areas.length)}`,
  curriculum_area: (i: number): string => `AREA-${pad(i + 1, 2)}`,
  campus: (i: number): string => `CAMPUS-${'ABCDE'[i]!}`,
  funding_stream: (i: number): string => `FUND.${pad(i + 1, 2)}`,
  year_group: (i: number): string => `Y${11 + i}`,
};

/** Some groups are archived from the start, independently of the number of learners. */
const archivedAt: Partial<Record<GroupType, (index: number) => boolean>> = {
  class: (i) => i % 11 === 4,
  employer: (i) => i % 13 === 5,
  caseload: (i) => i % 17 === 2,
  teaching_group: (i) => i % 19 === 1,
  registration_group: (i) => i % 16 === 2,
  campus: (i) => i === 4,
  course: (i) => i === 17,
  funding_stream: (i) => i === 4,
};

const programmes: readonly Programme[] = ['adult', 'apprenticeship', 'study'];
const intakeNames: Record<Programme, string> = {
  adult: 'Adult learning',
  apprenticeship: 'Apprenticeships',
  study: 'Study programmes',
};
const intakeCodes: Record<Programme, string> = { adult: 'A', apprenticeship: 'P', study: 'S' };
const termNames = ['autumn', 'spring', 'summer'];

/** The number of a term: 3 × the year in which the academic year begins, plus 0 (autumn), 1 (spring) or 2 (summer). */
function termOf(dayMs: number): number {
  const date = new Date(dayMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (month >= 7) return year * 3;
  return (year - 1) * 3 + (month < 3 ? 1 : 2);
}

const academicYear = (term: number): string => {
  const year = Math.floor(term / 3);
  return `${year}/${pad((year + 1) % 100, 2)}`;
};
const cohortRef = (term: number, programme: Programme): string =>
  `COHORT/${Math.floor(term / 3)}-${(term % 3) + 1}${intakeCodes[programme]}`;

function cohorts(calendar: WorkingCalendar): PlannedGroup[] {
  const first = termOf(calendar.days[0]!);
  const last = termOf(calendar.days.at(-1)!);
  const out: PlannedGroup[] = [];
  for (let term = first; term <= last; term += 1) {
    for (const programme of programmes) {
      out.push({
        type: 'cohort',
        ref: cohortRef(term, programme),
        name: `${intakeNames[programme]}, ${termNames[term % 3]!} term ${academicYear(term)}`,
        archived: last - term >= 4,
      });
    }
  }
  return out;
}

/** All groups, including archived groups: fewer than 450 for any number of learners. */
export function plannedGroups(seed: string, learners: number, calendar: WorkingCalendar): PlannedGroup[] {
  const out = cohorts(calendar);
  const add = (type: Exclude<GroupType, 'cohort'>, count: number, name: (index: number) => string): void => {
    for (let i = 0; i < count; i += 1) {
      out.push({ type, ref: refOf[type](i), name: name(i), archived: archivedAt[type]?.(i) ?? false });
    }
  };
  add('course', courseCount, courseName);
  add('class', countAt('class', learners), (i) => {
    const time = `${weekdays[i % 5]!} ${sessions[Math.floor(i / 5) % 3]!}`;
    return `${courseName(courseOfClass(i))}: ${time}, ${campuses[campusOfClass(i)]!} (group ${i + 1})`;
  });
  add('curriculum_area', areas.length, (i) => areas[i]!);
  add('campus', campuses.length, (i) => (campuses[i] === 'Online' ? 'Online' : `${campuses[i]!} campus`));
  add('funding_stream', fundingStreams.length, (i) => fundingStreams[i]!);
  add(
    'employer',
    countAt('employer', learners),
    (i) => `${places[i % places.length]!} ${trades[Math.floor(i / places.length) % trades.length]!}`,
  );
  add('caseload', countAt('caseload', learners), (i) => `Caseload of ${fullName(fastRandom(`${seed}\0tutor\0${i}`))}`);
  add('registration_group', countAt('registration_group', learners), (i) => `Registration group ${i + 1}`);
  add(
    'teaching_group',
    countAt('teaching_group', learners),
    (i) => `${i % 2 === 0 ? 'Maths' : 'English'} set ${Math.floor(i / 2) + 1}`,
  );
  add('year_group', yearGroups.length, (i) => yearGroups[i]!);
  return out;
}

const below = (random: Random, count: number): number => Math.floor(random.float() * count);

function otherActive(random: Random, type: keyof typeof growing, number: number, current: number): number | null {
  const count = countAt(type, number);
  const start = below(random, count);
  for (let step = 0; step < count; step += 1) {
    const index = (start + step) % count;
    if (index !== current && !(archivedAt[type]?.(index) ?? false)) return index;
  }
  return null;
}

/** A later change of memberships. The learner is in every group of `remove` and in no group of `add`. */
export type PlannedMove = { remove: GroupKey[]; add: GroupKey[] };

const movedShare = 0.14;

/** A move to another class also changes course, curriculum area and campus. Learners never move to archived groups. */
function classMove(from: number, to: number): PlannedMove {
  const keysOf = (index: number): [keyof typeof refOf, number][] => {
    const course = courseOfClass(index);
    return [
      ['class', index],
      ['course', course],
      ['curriculum_area', areaOfCourse(course)],
      ['campus', campusOfClass(index)],
    ];
  };
  const before = keysOf(from);
  const after = keysOf(to);
  const move: PlannedMove = { remove: [], add: [] };
  after.forEach(([type, index], i) => {
    const old = before[i]![1];
    if (old === index) return;
    move.remove.push({ type, ref: refOf[type](old) });
    if (!archivedAt[type]?.(index)) move.add.push({ type, ref: refOf[type](index) });
  });
  return move;
}

/** A learner's first groups and later moves. `startMs`: the learner's first day. */
export function memberships(
  random: Random,
  number: number,
  startMs: number,
): { groups: GroupKey[]; moves: PlannedMove[] } {
  const kind = random.float();
  const programme: Programme = kind < 0.58 ? 'adult' : kind < 0.8 ? 'apprenticeship' : 'study';
  const groups: GroupKey[] = [{ type: 'cohort', ref: cohortRef(termOf(startMs), programme) }];
  const hold = (type: keyof typeof refOf, index: number): void => {
    groups.push({ type, ref: refOf[type](index) });
  };
  const index: Partial<Record<keyof typeof growing, number>> = {};
  const join = (type: keyof typeof growing): number => {
    const chosen = below(random, countAt(type, number));
    index[type] = chosen;
    hold(type, chosen);
    return chosen;
  };
  let campus: number;
  if (programme === 'apprenticeship') {
    const course = below(random, courseCount);
    hold('course', course);
    hold('curriculum_area', areaOfCourse(course));
    campus = below(random, campuses.length);
    join('employer');
    join('caseload');
    hold('funding_stream', random.float() < 0.8 ? 2 : 7);
  } else {
    const chosen = join('class');
    const course = courseOfClass(chosen);
    hold('course', course);
    hold('curriculum_area', areaOfCourse(course));
    campus = campusOfClass(chosen);
    if (programme === 'study') {
      join('registration_group');
      join('teaching_group');
      hold('year_group', below(random, yearGroups.length));
      hold('funding_stream', 3);
    } else {
      const funding = [0, 0, 0, 1, 1, 4, 5, 6][below(random, 8)]!;
      hold('funding_stream', funding);
    }
  }
  hold('campus', campus);

  return { groups, moves: movesOf(random, number, index, campus) };
}

/** @param index the learner's group of each growing type */
function movesOf(
  random: Random,
  number: number,
  index: Partial<Record<keyof typeof growing, number>>,
  campus: number,
): PlannedMove[] {
  if (random.float() >= movedShare) return [];
  const moves: PlannedMove[] = [];
  const kinds = Object.keys(index) as (keyof typeof growing)[];
  const type = kinds[below(random, kinds.length)]!;
  const to = otherActive(random, type, number, index[type]!);
  const drawn = random.float();
  if (to !== null && drawn < 0.62) {
    moves.push(
      type === 'class'
        ? classMove(index.class!, to)
        : { remove: [{ type, ref: refOf[type](index[type]!) }], add: [{ type, ref: refOf[type](to) }] },
    );
  } else if (drawn < 0.78) {
    // The last campus is closed, so learners do not move there.
    const other = (campus + 1 + below(random, campuses.length - 2)) % (campuses.length - 1);
    if (other !== campus) {
      moves.push({
        remove: [{ type: 'campus', ref: refOf.campus(campus) }],
        add: [{ type: 'campus', ref: refOf.campus(other) }],
      });
    }
  } else {
    moves.push({ remove: [{ type, ref: refOf[type](index[type]!) }], add: [] });
  }
  const extra = otherActive(random, 'teaching_group', number, index.teaching_group ?? -1);
  if (extra !== null && type !== 'teaching_group' && random.float() < 0.2) {
    moves.push({ remove: [], add: [{ type: 'teaching_group', ref: refOf.teaching_group(extra) }] });
  }
  return moves;
}

/** About 45 % of the learners are in one team. Learners without a reference are in no team. */
export function plannedTeams(hasRef: (learnerNumber: number) => boolean): PlannedTeam[] {
  return teams.map((name, i) => ({
    ref: `TEAM-${pad(i + 1, 2)}`,
    name,
    includes: (number) => {
      const slot = hashOfNumber(number) % 100;
      return slot < 45 && slot % teams.length === i && hasRef(number);
    },
  }));
}
