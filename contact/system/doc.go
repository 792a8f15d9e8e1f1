// Package system solves contact problems of any mechanism, and differentiates the solutions: problems that are given by
// a mass matrix M and the Jacobian J of the contacts, dense in float64, as libraries of robots compute them, or by
// their Delassus matrix G = JM⁻¹Jᵀ.
//
// The laws, the residual and the tolerance are those of package contact. With v = v_f + M⁻¹Jᵀλ and c = Jv − c* + Rλ the
// impulses of the NCP obey K ∋ λ ⊥ c + (0, 0, μ‖c_T‖) ∈ K*, those of the CCP K ∋ λ ⊥ c ∈ K* [Contacts, (14), (15)].
// Velocities that are joined by numbers of M other than zero, or by those of a contact, are an island.
package system
