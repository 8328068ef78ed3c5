import type { Domain } from './schema.ts';

/** Each domain's share of a sitting. */
export type DomainShares = Readonly<Record<Domain, number>>;

/**
 * The blueprint of versions that are stored and hashed without one. It never changes. Other shares go into
 * `domainShares` and make another version of the bank.
 */
export const firstDomainShares: DomainShares = {
  devices_information: 0.2,
  creating_editing: 0.2,
  communicating: 0.2,
  transacting: 0.2,
  safe_online: 0.2,
  reading: 0.26,
  spelling: 0.19,
  punctuation: 0.18,
  grammar: 0.19,
  writing: 0.18,
  number: 0.4,
  measures_shape: 0.35,
  data: 0.25,
};

/** The blueprint of the shipped bank. The shares of a subject add up to 1. */
export const domainShares: DomainShares = { ...firstDomainShares };
