/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export { findAliases, findPerson, hashAliases, keepAlias, passAliases } from './aliases.ts';
export {
  absorbLearner,
  redactLearners,
  findLearner,
  findLearnerEmail,
  findLearnersByIds,
  findLearnersByRefs,
  findLearnersOrSurvivors,
  findPresentLearner,
  findLeaving,
  findSurvivors,
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
  updateLearnerEmail,
  updateLearnerRef,
  wasErased,
} from './store.ts';
