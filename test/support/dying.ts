import type { App } from '../../src/platform/app.ts';

/**
 * Ends this process by SIGKILL in its n-th transaction: before its statement of that number, at its `commit`, or at its
 * `reply`, after the commit. A transaction that the database refuses because whoever was killed before still holds a lock is
 * begun again, and is not another one.
 */
export function dieIn(app: App, nth: number, at: string): void {
  const die = () => process.kill(process.pid, 'SIGKILL');
  const { transaction } = app.db;
  let done = 0;
  app.db.transaction = async (inside, turn) => {
    const isLast = done + 1 === nth;
    const result = await transaction(async (tx) => {
      let statements = 0;
      const given = await inside({
        ...tx,
        query: async (sql, values) => {
          if (isLast && String(++statements) === at) die();
          return tx.query(sql, values);
        },
      });
      if (isLast && at === 'commit') die();
      return given;
    }, turn);
    done++;
    if (isLast && at === 'reply') die();
    return result;
  };
}
