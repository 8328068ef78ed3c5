/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export { findAliases, findPerson, hashAliases, keepAlias, passAliases } from './aliases.ts';
export {
  absorbLearner,
  emptyLearners,
  findLearner,
  findLearnersByIds,
  findLearnersByRefs,
  findLearnersOrSurvivors,
  findLeaving,
  findStranded,
  forgetChangeReasonsBefore,
  findWholeLearners,
  insertLearners,
  listErasures,
  lookAgainAt,
  nameInstants,
  recordChange,
  recordErasure,
  stopLooking,
  updateLearner,
  updateLearnerRef,
} from './store.ts';
