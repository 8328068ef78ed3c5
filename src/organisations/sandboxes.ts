import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** The sandboxes of organisations. Members request a sandbox, and the operator or a setting grants the request. */

const find = statement('sandbox.find')`
  select o.sandbox as is_one, o.sandbox_of is not null as is_of_one, s.organisation_id, s.public_id, r.asked_at
    from organisation o
    left join organisation s on s.sandbox_of = o.organisation_id
    left join sandbox_request r on r.organisation_id = o.organisation_id
   where o.organisation_id = $1`;
const request = statement('sandbox.request')`
  insert into sandbox_request (organisation_id, asked_by, asked_at) values ($1, $2, $3)
  on conflict (organisation_id) do nothing returning organisation_id`;
const forgetRequest = statement('sandbox.forget_request')`delete from sandbox_request where organisation_id = $1`;
const mark = statement('sandbox.mark')`
  update organisation set sandbox = true, sandbox_of = $2 where organisation_id = $1`;
const requests = statement('sandbox.requests')`
  select o.public_id, o.name, r.asked_at from sandbox_request r join organisation o using (organisation_id)
   order by r.asked_at, o.organisation_id`;

export type SandboxState = {
  /** The organisation is a sandbox itself. */
  is_one: boolean;
  /** The organisation is the sandbox of another organisation. */
  is_of_one: boolean;
  /** The sandbox of the organisation. */
  organisation_id: number | null;
  public_id: string | null;
  /** When a sandbox was requested; null if no request is open. */
  asked_at: Date | null;
};

export async function findSandbox(tx: Tx, organisationId: number): Promise<SandboxState> {
  return (await tx.query<SandboxState>(find, [organisationId]))[0]!;
}

/** The IDs of an organisation and its sandbox. People have the same role in both. */
export async function withSandbox({ tx }: UnitOfWork, organisationId: number): Promise<number[]> {
  const { organisation_id: sandbox } = await findSandbox(tx, organisationId);
  return sandbox === null ? [organisationId] : [organisationId, sandbox];
}

/** @returns false if a request is already open */
export async function requestSandbox(work: UnitOfWork, organisationId: number, userId: string): Promise<boolean> {
  return (await work.tx.query(request, [organisationId, userId, new Date(work.nowMs)])).length === 1;
}

/** @param of the organisation that the sandbox belongs to; null for the sandbox of `ars sandbox` */
export async function markSandbox(work: UnitOfWork, organisationId: number, of: number | null): Promise<void> {
  await work.tx.query(mark, [organisationId, of]);
  if (of !== null) await work.tx.query(forgetRequest, [of]);
}

export function listSandboxRequests(tx: Tx): Promise<{ public_id: string; name: string; asked_at: Date }[]> {
  return tx.query(requests);
}
