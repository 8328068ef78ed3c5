import type { Tx } from '../../../src/platform/db/database.ts';
import { findLineage } from '../../../src/governance/restore/lineage.ts';

/** How often the database was restored, as far as the service knows. */
export const countRestores = async (tx: Tx): Promise<number> => (await findLineage(tx))?.restores ?? 0;
