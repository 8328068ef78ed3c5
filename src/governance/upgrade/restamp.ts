import type { App } from '../../platform/app.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import {
  findRestamp,
  nothingRestamped,
  type RestampedThrough,
  restampSlice,
  takeRestampTurn,
} from '../../feed/restamp.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * The progress of a restamp in this process. The progress is not stored, because the records' positions show what is
 * left.
 */
export type Restamping = { organisationId: number; through: RestampedThrough };

export const newRestamping = (): Restamping => ({ organisationId: 0, through: nothingRestamped });

export type RestampStep = 'moved' | 'another process' | 'nothing left';

export async function restampNext(app: App, doing: Restamping): Promise<RestampStep> {
  const organisationId = await findRestamp(app.db);
  return organisationId === null ? 'nothing left' : restampOf(app, doing, organisationId);
}

/**
 * Restamps the next records with an old payload version in one transaction, so that another process can continue after
 * a crash.
 */
export async function restampOf(app: App, doing: Restamping, organisationId: number): Promise<RestampStep> {
  const from = doing.organisationId === organisationId ? doing.through : nothingRestamped;
  const { step, through } = await withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    const reached = { ...from };
    if (!(await takeRestampTurn(work.tx))) return { step: 'another process' as const, through: from };
    const feed = await lockFeed(work, organisationId);
    const isEnd = await restampSlice(work, feed, reached, limits.restampRecords);
    return { step: 'moved' as const, through: isEnd ? nothingRestamped : reached };
  });
  doing.organisationId = organisationId;
  doing.through = through;
  return step;
}
