import { type Tx, statement } from '../../../platform/db/database.ts';
import { isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { type ResultContent, type ShownDomain, contentOf } from '../body.ts';
import { type ProgressFilter, membersOf } from './progress.ts';
import { strengthsOf } from './distribution.ts';
import { isProvisional, placementOf } from './interval.ts';
import { comparedWords, domainStatus } from '../../evidence/wording.ts';
import { dayOf } from '../../../organisations/zone.ts';
import type { Column } from '../../../platform/formats/sheet.ts';

/** The latest result of a learner in a subject. */
export type Latest = {
  learner_id: string;
  full_name: string;
  ref: string | null;
  assessment_id: string;
  source: 'imported' | 'sitting';
  content: ResultContent;
};

const latest = statement('gaps.latest')`
  select l.learner_id, l.full_name, l.ref, x.assessment_id, a.assessed_at, a.source, a.body
    from unnest($2::uuid[]) as m(learner_id)
    join learner l on l.organisation_id = $1 and l.learner_id = m.learner_id
    cross join lateral (
      select f.assessment_id from assessment_feed f
       where f.organisation_id = $1 and f.learner_id = m.learner_id and not f.deleted and f.facet >> 3 = $3
       order by f.assessed_at desc, f.assessment_id desc limit 1) x
    join assessment a on a.organisation_id = $1 and a.assessment_id = x.assessment_id
   where ${isVisibleLearner('m.learner_id', '$4')}`;
type Row = Omit<Latest, 'content'> & { assessed_at: number; body: string };

/** Reads the latest results of the groups' members. `members`: how many members were read. */
export async function latestOfMembers(
  tx: Tx,
  organisationId: number,
  filter: Pick<ProgressFilter, 'groupIds' | 'visibility'>,
  subject: Subject,
  limit: number,
): Promise<{ rows: Latest[]; members: number; isMore: boolean }> {
  const found = await membersOf(tx, organisationId, filter, null, limit + 1);
  const values = [organisationId, found.slice(0, limit), subjects.indexOf(subject), filter.visibility];
  const rows = await tx.query<Row>(latest, values);
  return {
    rows: rows.map(({ body, assessed_at, ...row }) => ({ ...row, content: contentOf(body, assessed_at) })),
    members: Math.min(found.length, limit),
    isMore: found.length > limit,
  };
}

/** Whether teaching should begin with this domain. */
export const isNeed = ({ status, compared }: ShownDomain): boolean =>
  status === 'needs_support' || compared === 'weaker';

const needOf = ({ domains }: ResultContent) => {
  const countOf = (status: string) => domains.filter((one) => one.status === status).length;
  const needs = domains.filter(isNeed).length;
  const scores = domains.flatMap(({ score_pct }) => score_pct ?? []);
  const mean = scores.length === 0 ? 100 : scores.reduce((sum, one) => sum + one, 0) / scores.length;
  return [-countOf('needs_support'), -needs, -countOf('developing'), mean] as const;
};

/** Puts the learner first who needs support in most domains, then by weaker and developing domains and the mean score. */
export function byNeed<Row extends Pick<Latest, 'learner_id' | 'content'>>(rows: readonly Row[]): Row[] {
  const keyed = rows.map((row) => ({ row, need: needOf(row.content) }));
  keyed.sort(
    ({ row: x, need: a }, { row: y, need: b }) =>
      a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3] || x.learner_id.localeCompare(y.learner_id),
  );
  return keyed.map(({ row }) => row);
}

/** Imported results may name other domains. A matrix has the most frequent names only. */
const maxDomains = 8;

type Domains = Latest['content']['domains'];
export const domainIn = (row: Latest, of: string): Domains[number] | undefined =>
  row.content.domains.find((one) => one.name === of);

export const domainNames = (rows: readonly Latest[]): string[] => {
  const found = strengthsOf(rows.map((row) => row.content));
  const common = found.toSorted((x, y) => y.results - x.results).slice(0, maxDomains);
  return found.filter((one) => common.includes(one)).map((one) => one.name);
};

export function gapColumns(domains: readonly string[], zone: string): Column<Latest>[] {
  const text = (key: string, head: string, width: number, value: (row: Latest) => string | null): Column<Latest> => ({
    ...{ key, head, width, value },
    kind: 'text',
  });
  return [
    text('learner', 'Learner', 28, (row) => row.full_name),
    text('reference', 'Reference', 16, (row) => row.ref),
    text('placement', 'Placement', 20, (row) => placementOf(row.content)),
    text('provisional', 'Provisional', 8, (row) => (isProvisional(row) ? 'Yes' : 'No')),
    text('assessed', `Assessed (${zone})`, 14, (row) => dayOf(new Date(row.content.assessed_at_us / 1000), zone)),
    ...domains.flatMap((one, i): Column<Latest>[] => [
      text(`domain_${i + 1}`, one, 16, (row) => domainStatus(domainIn(row, one)?.status ?? null)),
      {
        ...{ key: `domain_${i + 1}_score`, head: `${one}: score in %`, width: 8, kind: 'number' },
        value: (row) => domainIn(row, one)?.score_pct ?? null,
      },
      text(`domain_${i + 1}_compared`, `${one}: compared with the others`, 24, (row) =>
        comparedWords(domainIn(row, one) ?? {}),
      ),
    ]),
  ];
}
