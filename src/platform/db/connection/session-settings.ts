/**
 * What holds on every connection. One plan per statement, whoever's values come first: plans for one organisation's
 * values surprise the next one. Parallel workers and compilation cost a short statement more than they give.
 */
export const sessionSettings: Record<string, string> = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  lock_timeout: '15s',
  idle_in_transaction_session_timeout: '1min',
};

/**
 * On which node a statement's rows are is known by its values alone: it is planned with them. And for how long a transaction
 * waits for a lock holds on that node, too, only if it is passed on.
 */
export const distributedSettings: typeof sessionSettings = {
  ...sessionSettings,
  plan_cache_mode: 'force_custom_plan',
  'citus.propagate_set_commands': 'local',
};
