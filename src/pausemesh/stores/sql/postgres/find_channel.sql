SELECT 'pausemesh_' || 'pausemesh.heads'::regclass::oid
