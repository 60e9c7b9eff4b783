from kinema.cli import main

main()
