import { loadBank, renderItem } from '../../src/engine/item-bank/load.ts';
import { renderModel } from '../../src/engine/item-bank/render-model.ts';
import type { Item } from '../../src/engine/item-bank/schema.ts';
import { documentOf, pageHeaders } from '../../src/web/player/layout.ts';
import { questionPage } from '../../src/web/player/question/question-page.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import type { TestService } from '../support/service.ts';
import { openPage } from './browser.ts';

const bank = loadBank();
const nowMs = Date.parse('2026-03-02T09:00:00Z');

const sitting: SittingRow = {
  organisation_id: 1,
  sitting_id: '00000000-0000-4000-8000-000000000000',
  invitation_id: '',
  learner_id: '',
  subject: 'digital',
  status: 'open',
  bank_version: '',
  settings: '{}',
  time_limit_ms: 3_600_000,
  withheld: [],
  used_ms: 0,
  on_screen_since: new Date(nowMs),
  last_seen_at: new Date(nowMs),
  started_at: new Date(nowMs),
  finished_at: null,
  closed_at: null,
  stop: null,
  declared_at: null,
  void_reason: null,
  assessment_id: null,
  result: null,
  released_by: null,
  released_at: null,
  supervision: 'Not supervised',
  supervisor: null,
  retake_reason: null,
};

export function pageOf(item: Item): string {
  const passage = item.type === 'template' || item.passage === undefined ? null : bank.passage(item.passage)!;
  const model = renderModel(item, renderItem(item, '1'), passage);
  return documentOf(
    questionPage('/a/link', { ...sitting, subject: item.subject }, { position: 7, max: 40, model, draft: null }, nowMs),
  );
}

export const all = subjects.flatMap((subject) => bank.subjects[subject].items);

/** A browser whose service shows any item of the bank under /items/ID. */
export async function gallery(service: TestService, options: Parameters<typeof openPage>[0]) {
  const opened = await openPage(options);
  const byId = new Map(all.map((item) => [item.id, item]));
  await opened.page.route(`${service.url}/items/*`, (route) =>
    route.fulfill({
      status: 200,
      headers: pageHeaders,
      body: pageOf(byId.get(new URL(route.request().url()).pathname.slice('/items/'.length))!),
    }),
  );
  const show = (item: Item) => opened.page.goto(`${service.url}/items/${item.id}`, { waitUntil: 'load' });
  return { ...opened, show };
}
